import { validateHeaderValue } from 'node:http';
import { expect, it } from 'vitest';
import { headerText } from '../../../api/http/headerText.ts';

it('encodes a name in any script for a header, and leaves ASCII unchanged', () => {
  for (const name of ['通义 2', 'a\r\nb', '😀', 'Größe', '\ud800']) {
    expect(() => validateHeaderValue('x-name', headerText(name))).not.toThrow();
  }
  expect([headerText('Qwen 3 (large)'), headerText('通义 2')]).toEqual(['Qwen 3 (large)', '?? 2']);
});
