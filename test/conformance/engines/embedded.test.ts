/** The conformance suite on the engine without a queue. */
import { createEmbeddedEngine } from '../../../src/engines/embedded.ts'
import { systemScheduler } from '../../../src/scheduler.ts'
import { exerciseEngine } from './engine.suite.ts'

exerciseEngine('embedded', async () => createEmbeddedEngine(systemScheduler))
