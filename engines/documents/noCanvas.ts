/** The PDF library looks for these of a browser when it is loaded. They are for drawing, which is never asked of it. */
class Unused {}

const names = ['DOMMatrix', 'Path2D', 'ImageData'] as const;
for (const name of names) if (!(name in globalThis)) Object.assign(globalThis, { [name]: Unused });
