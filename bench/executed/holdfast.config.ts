/** The run type that is measured: three steps, an anchor comment and a commit status. */
import { defineConfig } from '../../src/config.ts'
import { runBegan } from './executor.ts'

export default defineConfig({
  runs: {
    measured: {
      run: async (run) => {
        if (typeof run.input === 'number') runBegan(run.input)
        const first = await run.step('first', () => 1)
        const second = await run.step('second', () => first + 1)
        await run.step('third', () => second + 1)
        return { verdict: 'success', summary: 'Done.' }
      },
      concurrency: 64,
      anchor: { per: 'subject' },
      status: { context: 'bench/measured' },
    },
  },
})
