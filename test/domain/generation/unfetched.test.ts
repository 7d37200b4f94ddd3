import { describe, expect, it } from 'vitest';
import { ERROR_CODES, FareboxError } from '../../../domain/errors.ts';
import { unfetched } from '../../../domain/generation/unfetched.ts';

describe('a medium that could not be fetched', () => {
  it('is refused with the same message, whatever was found at its URL', () => {
    const causes = ['connect ECONNREFUSED 10.0.0.5:80', 'blocked: 169.254.169.254', '404', 'timeout'];
    const refusals = causes.map((internal) =>
      unfetched(new FareboxError({ code: 'invalid_source', message: internal, internal }), 'image_url'),
    );
    const message = 'The image_url could not be fetched.';
    for (const refusal of refusals) {
      expect(refusal).toEqual({ code: 'invalid_source', message, fields: { image_url: [message] } });
    }
  });

  it('is refused with its size limit and the name of its field', () => {
    const error = new FareboxError({ code: 'payload_too_large', message: 'At most 25 MB' });
    expect(unfetched(error, 'keyframes[3].image_url')).toEqual({
      code: 'payload_too_large',
      message: 'keyframes[3].image_url: At most 25 MB',
      fields: { 'keyframes[3].image_url': ['At most 25 MB'] },
    });
  });

  it.each(ERROR_CODES.filter((code) => code !== 'invalid_source' && code !== 'payload_too_large'))(
    'is not blamed on its URL when the error is %s',
    (code) => {
      expect(unfetched(new FareboxError({ code, message: 'words' }), 'image_url')).toBeUndefined();
    },
  );

  it.each([new Error('socket hang up'), 'text', undefined, null, { code: 'invalid_source' }])(
    'is not blamed on its URL when the error is a value like %s',
    (error) => {
      expect(unfetched(error, 'image_url')).toBeUndefined();
    },
  );
});
