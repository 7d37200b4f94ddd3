import { describe, expect, it } from 'vitest';
import { ERROR_CODES, FareboxError } from '../../../domain/errors.ts';
import { unfetched } from '../../../domain/generation/unfetched.ts';

describe('a medium that could not be fetched', () => {
  it('is refused in one sentence, whatever was found at its address', () => {
    const causes = ['connect ECONNREFUSED 10.0.0.5:80', 'blocked: 169.254.169.254', '404', 'timeout'];
    const refusals = causes.map((internal) =>
      unfetched(new FareboxError({ code: 'invalid_source', message: internal, internal }), 'image_url'),
    );
    const message = 'The image_url could not be fetched.';
    for (const refusal of refusals) {
      expect(refusal).toEqual({ code: 'invalid_source', message, fields: { image_url: [message] } });
    }
  });

  it('is told how large it may be, by the name of its field', () => {
    const error = new FareboxError({ code: 'payload_too_large', message: 'At most 25 MB' });
    expect(unfetched(error, 'keyframes[3].image_url')).toEqual({
      code: 'payload_too_large',
      message: 'keyframes[3].image_url: At most 25 MB',
      fields: { 'keyframes[3].image_url': ['At most 25 MB'] },
    });
  });

  it.each(ERROR_CODES.filter((code) => code !== 'invalid_source' && code !== 'payload_too_large'))(
    'is not the fault of its address when the error is %s',
    (code) => {
      expect(unfetched(new FareboxError({ code, message: 'words' }), 'image_url')).toBeUndefined();
    },
  );

  it.each([new Error('socket hang up'), 'text', undefined, null, { code: 'invalid_source' }])(
    'is not the fault of its address when it is %s',
    (error) => {
      expect(unfetched(error, 'image_url')).toBeUndefined();
    },
  );
});
