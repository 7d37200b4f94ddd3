import { validateHeaderValue } from 'node:http';
import { expect, it } from 'vitest';
import { headerText } from '../../../api/http/headerText.ts';

it('a name in any script can be sent as a header, and one in ASCII is sent as it is', () => {
  for (const name of ['通义 2', 'a\r\nb', '😀', 'Größe', '\ud800']) {
    expect(() => validateHeaderValue('x-name', headerText(name))).not.toThrow();
  }
  expect([headerText('Qwen 3 (large)'), headerText('通义 2')]).toEqual(['Qwen 3 (large)', '?? 2']);
});
