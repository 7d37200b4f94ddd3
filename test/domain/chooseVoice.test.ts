import { describe, expect, it } from 'vitest';
import { chooseVoice } from '../../domain/catalogue/chooseVoice.ts';
import { ELEVENLABS_VOICE_CHANGER, LOCAL_VOICE_CHANGER } from '../../domain/catalogue/voiceChangers.ts';

describe('the voice of an order', () => {
  it('is the default voice when the order names none', () => {
    expect(chooseVoice(LOCAL_VOICE_CHANGER, undefined)).toEqual({ ok: true, voice: 'alto' });
    expect(chooseVoice(ELEVENLABS_VOICE_CHANGER, undefined)).toEqual({ ok: true, voice: 'Aria' });
  });

  it('may be any listed voice', () => {
    for (const model of [LOCAL_VOICE_CHANGER, ELEVENLABS_VOICE_CHANGER]) {
      for (const voice of model.voices) expect(chooseVoice(model, voice)).toEqual({ ok: true, voice });
    }
  });

  it('is refused with a list of the supported ones when the model has no custom voices', () => {
    const choice = chooseVoice(LOCAL_VOICE_CHANGER, 'Aria');
    expect(choice).toMatchObject({ ok: false, supportedVoices: LOCAL_VOICE_CHANGER.voices });
    expect(choice).toHaveProperty('message', expect.stringContaining('bass'));
  });

  const ids = ['21m00Tcm4TlvDq8ikWAM', 'a', 'my-voice_2.0', 'x'.repeat(60)];
  it.each(ids)('may be the custom id %s if the model accepts custom ids', (id) => {
    expect(chooseVoice(ELEVENLABS_VOICE_CHANGER, id)).toEqual({ ok: true, voice: id });
  });

  const dangerous = ['', 'x'.repeat(61), '../voices', 'a/b', '..', '.', 'a b', 'a?b', 'a%2Fb', 'a\n', 'ä', '\u0000'];
  it.each(dangerous)('is never the unsafe id %j', (id) => {
    expect(chooseVoice(ELEVENLABS_VOICE_CHANGER, id).ok).toBe(false);
  });

  it('does not quote the refused text', () => {
    const choice = chooseVoice(LOCAL_VOICE_CHANGER, '<script>');
    expect(JSON.stringify(choice)).not.toContain('script');
  });
});
