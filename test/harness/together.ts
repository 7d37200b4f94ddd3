/** Runs all calls, `width` at a time. Returns results in the order of the calls. */
export async function together<T>(calls: (() => Promise<T>)[], width: number): Promise<T[]> {
  const results = new Array<T>(calls.length);
  let next = 0;
  const lane = async () => {
    for (let index = next++; index < calls.length; index = next++) {
      const call = calls[index];
      if (call) results[index] = await call();
    }
  };
  await Promise.all(Array.from({ length: width }, lane));
  return results;
}
