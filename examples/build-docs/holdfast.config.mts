/** Builds the documentation of every push to main, one after the other, with a shell script. */
import { defineConfig } from 'holdfast'

export default defineConfig({
  runs: {
    docs: {
      on: { push: [] },
      when: (event) => event.payload.ref === 'refs/heads/main' || 'another branch',
      run: { command: ['sh', 'build.sh'], env: ['DOCS_TITLE'] },
      onNewer: 'queue',
      status: { context: 'docs/job' },
      timeoutMs: 300_000,
    },
  },
})
