/** The PDF library requires these browser classes at load time. They serve drawing, which is never used. */
class Unused {}

const names = ['DOMMatrix', 'Path2D', 'ImageData'] as const;
for (const name of names) if (!(name in globalThis)) Object.assign(globalThis, { [name]: Unused });
