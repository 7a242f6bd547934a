/**
 * The configuration of the workers in the storm: three types, one per policy, with three steps
 * each. The effect of a step is a request to the test, which counts them by key.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { defineConfig, type RunContext, type StepOptions } from 'holdfast'

const counter = process.env['COUNTER_URL'] ?? ''
const pauseMs = Number(process.env['STEP_PAUSE_MS'] ?? '100')

async function effect(key: string, name: string): Promise<string> {
  await pause(pauseMs)
  const answer = await fetch(`${counter}/${key}`, { method: 'POST', body: name })
  await pause(pauseMs)
  return await answer.text()
}

const steps =
  (options: StepOptions) =>
  async (run: RunContext): Promise<void> => {
    for (const name of ['one', 'two', 'three']) {
      await run.step(name, options, ({ key }) => effect(key, `${run.id} ${name}`))
    }
  }

async function confirm({ key }: { readonly key: string }) {
  const answer = await fetch(`${counter}/${key}`)
  return Number(await answer.text()) > 0 ? { done: 'found' } : ('not-done' as const)
}

const type = { status: false, anchor: false, attempts: 500, concurrency: 3 } as const

export default defineConfig({
  runs: {
    repeat: { ...type, run: steps({ retries: 100 }) },
    confirm: { ...type, run: steps({ inDoubt: 'confirm', confirm, retries: 100 }) },
    hold: { ...type, run: steps({ inDoubt: 'hold' }) },
  },
})
