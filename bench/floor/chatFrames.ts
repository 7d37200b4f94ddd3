/** What the stand-in for a text service streams, and at which pace. */
export const FRAMES = 64;
export const FRAME_MS = 20;
