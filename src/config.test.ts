/** The compiler checks that a config needs no annotations; the test, that it loads. */
import { expect, test } from 'vitest'
import { defineConfig, type RunContext } from './config.ts'
import { configSchema } from './settings/config-schema.ts'

declare function getDiff(github: RunContext['github']): Promise<string>
declare function model(diff: string, key: string): Promise<{ body: string; blocking: boolean }>

test('a config with everything in it has the right types and passes the checks', () => {
  const config = defineConfig({
    port: 9000,
    databaseUrl: 'sqlite:runs.db',
    runs: {
      review: {
        on: { pull_request: ['opened', 'reopened', 'ready_for_review', 'synchronize'] },
        rerunOn: { pull_request: ['review_requested'], check_run: ['rerequested'] },
        when: (e) => e.payload.pull_request.user.type !== 'Bot' || 'bot author',
        run: async (run) => {
          const diff = await run.step('diff', () => getDiff(run.github))
          const found = await run.step('model', { inDoubt: 'repeat' }, (s) => model(diff, s.key))
          await run.publish('findings', { channel: 'github-review', body: found.body })
          return { verdict: found.blocking ? 'failure' : 'success', summary: found.body }
        },
        timeoutMs: 1_800_000,
        attempts: 3,
        concurrency: 4,
        onNewer: 'supersede',
        anchor: { per: 'subject' },
        status: { context: 'acme/review' },
      },
      docs: {
        run: { command: ['node', 'build.mjs'], env: ['NOTION_TOKEN'] },
        onNewer: 'queue',
        anchor: false,
      },
      cleanup: { run: async () => Promise.resolve() },
    },
    tasks: {
      agent: {
        on: { issues: ['labeled'] },
        when: (e) => e.payload.label.name === 'agent' || 'another label',
        by: 'write',
        phases: [
          { name: 'plan', approval: { by: 'write', deadlineMs: 86_400_000 } },
          { name: 'deliver', run: 'remote' },
        ],
        hooks: {
          onPhaseBlocked: (p) => p.publish('b', { channel: 'github-comment', body: p.reason }),
        },
      },
    },
    notify: [{ on: ['PHASE_BLOCKED'], to: ['role:owner', 42], channels: ['telegram'] }],
  })
  expect(configSchema.safeParse(config).success).toBe(true)
})

test('what is wrong is also wrong for the compiler', () => {
  // @ts-expect-error a secret has no key
  defineConfig({ adminToken: 'x' })
  // @ts-expect-error a misspelling
  defineConfig({ prot: 1 })
  // @ts-expect-error no such choice
  defineConfig({ runs: { review: { onNewer: 'stop' } } })
  // @ts-expect-error a text is no number
  expect(defineConfig({ leaseMs: '1000' })).toEqual({ leaseMs: '1000' })
})
