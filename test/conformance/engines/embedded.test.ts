/** The conformance suite on the engine without a queue, and what only this engine promises. */
import { describe, expect, it } from 'vitest'
import { createEmbeddedEngine } from '../../../src/engines/embedded.ts'
import { systemScheduler } from '../../../src/scheduler.ts'
import { TestListener, wakeUp } from './engine-listener.ts'
import { exerciseEngine } from './engine.suite.ts'

exerciseEngine('embedded', async () => createEmbeddedEngine(systemScheduler))

describe('wake-ups that wait while another one is taken', () => {
  const announced = ['run_1', 'run_2', 'run_3'].map((id) => wakeUp(id))

  async function heard(answer: 'looked' | undefined): Promise<readonly string[]> {
    const engine = createEmbeddedEngine(systemScheduler)
    const listener: TestListener = new TestListener(async ({ runId }) => {
      if (runId === 'run_1') engine.announce([wakeUp('run_4')])
      return answer
    })
    engine.listen(['review'], listener)
    engine.announce(announced)
    await listener.heard('run_4')
    await engine.stop()
    return listener.runIds
  }

  it('need no other look, but those that came later do', async () => {
    expect(await heard('looked')).toEqual(['run_1', 'run_4'])
  })

  it('are all handed over if nobody looked', async () => {
    expect(await heard(undefined)).toEqual(['run_1', 'run_2', 'run_3', 'run_4'])
  })
})
