/** Shared parts of the two OpenAI image routes. */
import { FareboxError } from '../../domain/errors.ts';
import { IMAGE_CONTENT_TYPES, type PixelSize } from '../../domain/images/images.ts';
import type { Answer } from '../http/answer.ts';
import { filesInJson } from './filesInJson.ts';
import type { GeneratedImages } from './generate.ts';

/** OpenAI clients send names of OpenAI's models: the default model answers for unknown ones. */
export function withDefaultModel<T>(usual: string, find: (name: string) => T): (name: string | null | undefined) => T {
  return (name) => {
    try {
      return find(name ?? usual);
    } catch (error) {
      if (name == null || !(error instanceof FareboxError) || error.code !== 'model_not_found') throw error;
      return find(usual);
    }
  };
}

/** Undefined: `auto`, or no size. */
export function pixelsOf(size: string | null | undefined): PixelSize | undefined {
  const [width, height] = size?.split('x').map(Number) ?? [];
  return width && height ? { width, height } : undefined;
}

export async function asOpenAi(
  { made, headers }: Pick<GeneratedImages, 'made' | 'headers'>,
  form: 'b64_json' | 'url' | null | undefined,
): Promise<Answer> {
  const type = made[0]?.contentType ?? IMAGE_CONTENT_TYPES.png;
  const field = form === 'url' ? `"url":"data:${type};base64,` : '"b64_json":"';
  const created = Math.floor(Date.now() / 1_000);
  return await filesInJson({
    before: `{"created":${created},"data":[{${field}`,
    between: `"},{${field}`,
    after: '"}]}',
    paths: made.map(({ path }) => path),
    headers,
  });
}
