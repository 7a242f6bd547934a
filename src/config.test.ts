/** The compiler checks that a config needs no annotations; the test, that it loads. */
import { expect, test } from 'vitest'
import { defineConfig } from './config.ts'
import { configSchema } from './settings/config-file/config-schema.ts'

test('a config with everything in it has the right types and passes the checks', () => {
  const config = defineConfig({
    port: 9000,
    databaseUrl: 'sqlite:runs.db',
    runs: {
      review: {
        on: { pull_request: ['opened', 'reopened', 'ready_for_review', 'synchronize'] },
        rerunOn: { pull_request: ['review_requested'], check_run: ['rerequested'] },
        when: (e) => e.payload.pull_request.user.type !== 'Bot' || 'bot author',
        run: 'remote',
        timeoutMs: 1_800_000,
        attempts: 3,
        onNewer: 'supersede',
        anchor: { per: 'subject' },
        status: { context: 'acme/review' },
        permissions: { contents: 'read', pull_requests: 'write' },
      },
      docs: {
        onNewer: 'queue',
        anchor: false,
      },
    },
    channels: { 'github-status': { retry: { maxRetries: 2, initialMs: 500 } } },
  })
  expect(configSchema.safeParse(config).success).toBe(true)
})

test('a wrong config is also an error for the compiler', () => {
  // @ts-expect-error a secret has no key
  defineConfig({ adminToken: 'x' })
  // @ts-expect-error a misspelling
  defineConfig({ prot: 1 })
  // @ts-expect-error no such choice
  defineConfig({ runs: { review: { onNewer: 'stop' } } })
  // @ts-expect-error no such level
  defineConfig({ runs: { review: { permissions: { workflows: 'read' } } } })
  // @ts-expect-error a text is no number
  expect(defineConfig({ leaseMs: '1000' })).toEqual({ leaseMs: '1000' })
})
