import { join } from 'node:path';
import type { ProviderDefinition } from '../shared/providerDefinition.ts';
import { type SimulatorSettings, simulatorSettings } from './settings.ts';
import { createSimulator } from './simulator.ts';
import { createTestCards } from './testCard.ts';
import { createTextSimulator } from './textSimulator.ts';

/** A deterministic simulator for tests and demonstrations. It makes no calls. */
export const simulator: ProviderDefinition<SimulatorSettings> = {
  kind: 'simulator',
  settings: simulatorSettings,
  pathSettings: ['stateFolder'],
  isBuiltIn: true,
  isSimulated: true,
  lacksClassifier: true,
  serves: ['voice-changer', 'music', 'video', 'text', 'decision', 'image'],
  open({ name, settings, dataFolder, tools }) {
    const { stateFolder = join(dataFolder, 'simulator', encodeURIComponent(name)) } = settings;
    return {
      text: () => createTextSimulator(settings),
      media: createTestCards,
      queue: () => createSimulator(settings, { stateFolder, tools }),
    };
  },
};
