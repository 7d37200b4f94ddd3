/** Frames of a simulated chat stream, and their interval. */
export const FRAMES = 64;
export const FRAME_MS = 20;
