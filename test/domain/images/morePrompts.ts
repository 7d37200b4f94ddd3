/** More prompts and what they are read as. */
import type { EditPlan } from '../../../domain/images/editing/plan.ts';

/** Prompt, number of images, plan. */
export const ALSO_UNDERSTOOD: readonly (readonly [string, number, EditPlan])[] = [
  ['cut out using the second image as a mask', 2, [{ do: 'cutout', image: 2, inverted: false }]],
  [
    'put the second image over the first, then use the third image as a mask',
    3,
    [
      { do: 'overlay', image: 2, anchor: { x: 0.5, y: 0.5 }, fills: false, opacity: 1, blend: 'over' },
      { do: 'cutout', image: 3, inverted: false },
    ],
  ],
  [
    'crop to square, then blur using the second image as a mask',
    2,
    [
      { do: 'crop', ratio: 1, anchor: { x: 0.5, y: 0.5 } },
      { do: 'masked', image: 2, inverted: false, steps: [{ do: 'blur', size: { share: 0.01 } }] },
    ],
  ],
  ['mask the first image with the second', 2, [{ do: 'cutout', image: 2, inverted: false }]],
  [
    'crop to 16:9, make it warmer and write "Hello" at the top in white',
    1,
    [
      { do: 'crop', ratio: 1.7777777777777777, anchor: { x: 0.5, y: 0.5 } },
      { do: 'tone', tone: 'warmth', amount: 0.4 },
      { do: 'text', text: 'Hello', anchor: { x: 0.5, y: 0 }, colour: { red: 255, green: 255, blue: 255 } },
    ],
  ],
  ['crop the left half', 1, [{ do: 'cropShare', left: 0, top: 0, width: 0.5, height: 1 }]],
  ['crop the top third', 1, [{ do: 'cropShare', left: 0, top: 0, width: 1, height: 0.33333333333333326 }]],
  ['crop 10% off each side', 1, [{ do: 'cropShare', left: 0.1, top: 0.1, width: 0.8, height: 0.8 }]],
  ['crop to 400x300', 1, [{ do: 'cropTo', width: 400, height: 300, anchor: { x: 0.5, y: 0.5 } }]],
  ['crop to a square at the top', 1, [{ do: 'crop', ratio: 1, anchor: { x: 0.5, y: 0 } }]],
  [
    'pad to 16:9 with white',
    1,
    [{ do: 'pad', ratio: 1.7777777777777777, colour: { red: 255, green: 255, blue: 255 } }],
  ],
  ['letterbox to 21:9', 1, [{ do: 'pad', ratio: 2.3333333333333335, colour: { red: 0, green: 0, blue: 0 } }]],
  ['resize to 800 pixels wide', 1, [{ do: 'resize', width: 800, fit: 'cover' }]],
  ['resize to 800 wide and 600 high', 1, [{ do: 'resize', width: 800, height: 600, fit: 'cover' }]],
  ['make it 800 px wide', 1, [{ do: 'resize', width: 800, fit: 'cover' }]],
  ['long side 1024 px', 1, [{ do: 'longSide', pixels: 1024 }]],
  ['high contrast black and white', 1, [{ do: 'tone', tone: 'contrast', amount: 1.3 }, { do: 'grey' }]],
  ['auto contrast', 1, [{ do: 'normalise' }]],
  ['enlarge by a factor of 3', 1, [{ do: 'scale', factor: 3 }]],
  ['shrink it', 1, [{ do: 'scale', factor: 0.5 }]],
  ['reduce the size by 30%', 1, [{ do: 'scale', factor: 0.7 }]],
  ['thumbnail', 1, [{ do: 'longSide', pixels: 256 }]],
  [
    'write "x" slightly',
    1,
    [
      {
        do: 'text',
        text: 'x',
        anchor: { x: 0.5, y: 1 },
        colour: { red: 255, green: 255, blue: 255 },
        size: { share: 0.045 },
      },
    ],
  ],
  ['add some contrast', 1, [{ do: 'tone', tone: 'contrast', amount: 1.3 }]],
  [
    'warmer, brighter, and sharper',
    1,
    [
      { do: 'tone', tone: 'warmth', amount: 0.4 },
      { do: 'tone', tone: 'brightness', amount: 1.25 },
      { do: 'sharpen', amount: 1 },
    ],
  ],
  ['twice as bright', 1, [{ do: 'tone', tone: 'brightness', amount: 2 }]],
  ['half as bright', 1, [{ do: 'tone', tone: 'brightness', amount: 0.5 }]],
  ['resize by 50%', 1, [{ do: 'scale', factor: 0.5 }]],
  ['brightness +20%', 1, [{ do: 'tone', tone: 'brightness', amount: 1.2 }]],
  ['brightness -20%', 1, [{ do: 'tone', tone: 'brightness', amount: 0.8 }]],
  [
    'write "<b>x</b>" at the bottom',
    1,
    [{ do: 'text', text: '<b>x</b>', anchor: { x: 0.5, y: 1 }, colour: { red: 255, green: 255, blue: 255 } }],
  ],
  ['resize it to fit within 800x600', 1, [{ do: 'resize', width: 800, height: 600, fit: 'inside' }]],
  ['stretch to 800x600', 1, [{ do: 'resize', width: 800, height: 600, fit: 'stretch' }]],
  [
    'Crop the image to a 4:3 aspect ratio and then convert it to black and white',
    1,
    [{ do: 'crop', ratio: 1.3333333333333333, anchor: { x: 0.5, y: 0.5 } }, { do: 'grey' }],
  ],
  [
    'Please make this photo a little warmer, then sharpen it.',
    1,
    [
      { do: 'tone', tone: 'warmth', amount: 0.2 },
      { do: 'sharpen', amount: 1 },
    ],
  ],
  ['could you rotate the picture to the right', 1, [{ do: 'rotate', degrees: 90 }]],
  ['rotate by a quarter turn', 1, [{ do: 'rotate', degrees: 90 }]],
  ['tone down the saturation', 1, [{ do: 'tone', tone: 'saturation', amount: 0.6 }]],
  ['turn up the brightness', 1, [{ do: 'tone', tone: 'brightness', amount: 1.25 }]],
  ['warm it up', 1, [{ do: 'tone', tone: 'warmth', amount: 0.4 }]],
  ['make the image 2x larger', 1, [{ do: 'scale', factor: 2 }]],
  ['scale to 25%', 1, [{ do: 'scale', factor: 0.25 }]],
  ['make it half as big', 1, [{ do: 'scale', factor: 0.5 }]],
  [
    'add a thin black border around the image',
    1,
    [{ do: 'border', thickness: { share: 0.015 }, colour: { red: 0, green: 0, blue: 0 } }],
  ],
  [
    'frame it in gold with 5%',
    1,
    [{ do: 'border', thickness: { share: 0.05 }, colour: { red: 224, green: 176, blue: 48 } }],
  ],
  [
    'Blur, darken and warm it',
    1,
    [
      { do: 'blur', size: { share: 0.01 } },
      { do: 'tone', tone: 'brightness', amount: 0.75 },
      { do: 'tone', tone: 'warmth', amount: 0.4 },
    ],
  ],
  [
    'use an inverted mask from the second image and blur',
    2,
    [{ do: 'masked', image: 2, inverted: true, steps: [{ do: 'blur', size: { share: 0.01 } }] }],
  ],
  [
    'screen image 2 over the first',
    2,
    [{ do: 'overlay', image: 2, anchor: { x: 0.5, y: 0.5 }, fills: false, opacity: 1, blend: 'screen' }],
  ],
  [
    'blend the second image over the first with multiply',
    2,
    [{ do: 'overlay', image: 2, anchor: { x: 0.5, y: 0.5 }, fills: true, opacity: 1, blend: 'multiply' }],
  ],
  [
    'put image 2 over the first, bottom left, 25% width',
    2,
    [
      {
        do: 'overlay',
        image: 2,
        anchor: { x: 0, y: 1 },
        width: { share: 0.25 },
        fills: false,
        opacity: 1,
        blend: 'over',
      },
    ],
  ],
  [
    'place the second image in the middle at 20% width, then put the third image at the top right at 100 px wide',
    3,
    [
      {
        do: 'overlay',
        image: 2,
        anchor: { x: 0.5, y: 0.5 },
        width: { share: 0.2 },
        fills: false,
        opacity: 1,
        blend: 'over',
      },
      {
        do: 'overlay',
        image: 3,
        anchor: { x: 1, y: 0 },
        width: { pixels: 100 },
        fills: false,
        opacity: 1,
        blend: 'over',
      },
    ],
  ],
  [
    'write "Sale 50%" in the top left corner in dark red, 10%',
    1,
    [
      {
        do: 'text',
        text: 'Sale 50%',
        anchor: { x: 0, y: 0 },
        colour: { red: 123, green: 18, blue: 18 },
        size: { share: 0.1 },
      },
    ],
  ],
  ['make it 4:5', 1, [{ do: 'crop', ratio: 0.8, anchor: { x: 0.5, y: 0.5 } }]],
  ['crop to 1:1 at the bottom', 1, [{ do: 'crop', ratio: 1, anchor: { x: 0.5, y: 1 } }]],
  ['tint it #ff8800 slightly', 1, [{ do: 'tint', colour: { red: 255, green: 136, blue: 0 }, strength: 0.2 }]],
  ['make it see-through', 1, [{ do: 'opacity', opacity: 0.5 }]],
  ['desaturate by 60%', 1, [{ do: 'tone', tone: 'saturation', amount: 0.4 }]],
  ['contrast to 80%', 1, [{ do: 'tone', tone: 'contrast', amount: 0.8 }]],
  [
    'vivid and contrasty',
    1,
    [
      { do: 'tone', tone: 'saturation', amount: 1.4 },
      { do: 'tone', tone: 'contrast', amount: 1.3 },
    ],
  ],
  [
    'crop to 16:9 and 4:3 ratio',
    1,
    [
      { do: 'crop', ratio: 1.7777777777777777, anchor: { x: 0.5, y: 0.5 } },
      { do: 'crop', ratio: 1.3333333333333333, anchor: { x: 0.5, y: 0.5 } },
    ],
  ],
  ['make it 5x', 1, [{ do: 'scale', factor: 5 }]],
];
