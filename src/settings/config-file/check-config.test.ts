import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { openHoldfast } from '../../library/open-holdfast.ts'
import { loadSettings } from '../load-settings.ts'
import { SettingsError } from '../settings-error.ts'

let cwd = ''
let path = ''
beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), 'holdfast-config-'))
  path = join(cwd, 'holdfast.config.ts')
})

const loadText = (text: string, env = {}) => {
  writeFileSync(path, text)
  return loadSettings({ env, cwd })
}

async function errorOf(loading: Promise<unknown>): Promise<SettingsError> {
  const error: unknown = await loading.then(
    () => null,
    (reason: unknown) => reason,
  )
  if (error instanceof SettingsError) return error
  throw new Error(`expected a SettingsError, got ${String(error)}`)
}

test('a value that makes another one incomplete hides no other problem', async () => {
  const wrong = `export default {
    port: 99999,
    runs: {
      lint: { anchor: { per: 'day' }, status: { context: 'acme/one' } },
      docs: { status: { context: 'acme/one' } },
    },
  }`
  const { problems } = await errorOf(loadText(wrong))
  expect(problems).toEqual([
    expect.stringContaining('runs.lint.anchor.per is "day" but must be'),
    expect.stringContaining('port'),
    expect.stringContaining('acme/one'),
  ])
})

const runForms = "must be a function, { command: [...] } or 'remote'"

describe('what it says', () => {
  test.each([
    ['42', 'the default export is 42 but must be an object'],
    ['null', 'the default export is null but must be an object'],
    ['[]', 'the default export is a list but must be an object'],
    [
      'new Map([["runs", {}]])',
      'the default export is a Map but must be a plain object. Write { ... }',
    ],
    ['new (class Mine {})()', 'the default export is a Mine but must be a plain object.'],
    ['() => ({})', 'the default export is a function but must be an object'],
    [
      'Promise.resolve({})',
      'the default export is a Promise but must be a plain object. Write await before it',
    ],
    ['{ runs: new Map() }', 'runs is a Map but must be a plain object.'],
    ['{ runs: { review: { on: new Set() } } }', 'runs.review.on is a Set but must be a plain'],
    ['{ get runs() { throw new Error("no") } }', 'runs could not be read: Error: no'],
    [
      '{ runs: { get review() { throw 5 } } }',
      'runs.review could not be read: it threw something that is not an Error',
    ],
    ['{ prot: 1 }', 'the default export has the unknown key "prot". Did you mean "port"?'],
    [
      "{ adminToken: 'hunter2' }",
      'the default export sets adminToken, a secret. Set it in the environment instead: ' +
        'HOLDFAST_ADMIN_TOKEN or HOLDFAST_ADMIN_TOKEN_FILE',
    ],
    ['{ runs: [] }', 'runs is a list but must be an object'],
    [
      '{ runs: { Review: {} } }',
      'runs.Review is not a valid name for a run type. Use a lower-case letter, then',
    ],
    ['{ runs: { review: 1 } }', 'runs.review is 1 but must be an object'],
    [
      "{ runs: { review: { onNewer: 'x' } } }",
      'runs.review.onNewer is "x" but must be one of supersede, queue, skip',
    ],
    [
      "{ runs: { review: { onNewer: 'supercede' } } }",
      'runs.review.onNewer is "supercede" but must be one of supersede, queue, skip. ' +
        'Did you mean "supersede"?',
    ],
    [
      "{ runs: { review: { publish: { channels: ['github-coment'] } } } }",
      'runs.review.publish.channels[0] is "github-coment" but must be one of github-comment, ' +
        'github-status, github-check, github-label, github-review. Did you mean "github-comment"?',
    ],
    [
      "{ runs: { review: { permissions: { pull_request: 'read' } } } }",
      'runs.review.permissions has the unknown key "pull_request". Did you mean "pull_requests"?',
    ],
    [
      "{ runs: { review: { permissions: { issues: 'wirte' } } } }",
      'runs.review.permissions.issues is "wirte" but must be one of read, write. ' +
        'Did you mean "write"?',
    ],
    [
      "{ runs: { review: { permissions: 'read' } } }",
      'runs.review.permissions is "read" but must be an object',
    ],
    [
      '{ runs: { review: { timeout: 1 } } }',
      'runs.review has the unknown key "timeout". Did you mean "timeoutMs"?',
    ],
    [
      '{ runs: { review: { timeoutMs: 1.5 } } }',
      'runs.review.timeoutMs is 1.5 but must be a whole number',
    ],
    [
      '{ runs: { review: { attempts: 0 } } }',
      'runs.review.attempts is 0 but must be a whole number',
    ],
    ["{ runs: { review: { own: 'yes' } } }", 'runs.review.own is "yes" but must be true or false'],
    [
      "{ runs: { review: { by: 'boss' } } }",
      'runs.review.by is "boss" but must be one of read, triage',
    ],
    ['{ runs: { review: { when: true } } }', 'runs.review.when is true but must be a function'],
    [
      '{ runs: { review: { when: async () => true } } }',
      'runs.review.when is async, but Holdfast uses its answer at once. Remove async and await',
    ],
    ["{ runs: { review: { on: 'push' } } }", 'runs.review.on is "push" but must be an object'],
    [
      "{ runs: { review: { on: { push: 'x' } } } }",
      'runs.review.on.push is "x" but must be a list',
    ],
    [
      '{ runs: { review: { on: { push: [1] } } } }',
      'runs.review.on.push[0] is 1 but must be a text',
    ],
    ["{ runs: { review: { on: { 'a b': [] } } } }", 'runs.review.on.a b is not a GitHub event'],
    [
      "{ runs: { review: { on: { pull_requests: ['opened'] } } } }",
      'runs.review.on.pull_requests is not a GitHub event. Did you mean "pull_request"?',
    ],
    [
      "{ runs: { review: { on: { deploys: ['opened'] } } } }",
      'runs.review.on.deploys is not a GitHub event. Events that start runs: check_run,',
    ],
    [
      "{ runs: { review: { on: { pull_request: ['opened', 'sync'] } } } }",
      'runs.review.on.pull_request[1] "sync" is not an action of pull_request. Actions: assigned,',
    ],
    [
      "{ runs: { review: { rerunOn: { pull_request: ['open'] } } } }",
      'runs.review.rerunOn.pull_request[0] "open" is not an action of pull_request. Did you mean ' +
        '"opened"?',
    ],
    [
      "{ runs: { review: { on: { pull_request: ['openend'] } } } }",
      'runs.review.on.pull_request[0] "openend" is not an action of pull_request. Did you mean ' +
        '"opened"?',
    ],
    [
      "{ runs: { review: { on: { issues: ['opened'] } } } }",
      'runs.review.on.issues cannot start a run in this version. Events that start runs: ',
    ],
    [
      "{ runs: { review: { on: { release: ['published'] } } } }",
      'runs.review.on.release cannot start a run in this version. Events that start runs: ',
    ],
    [
      "{ runs: { review: { on: { push: ['created'] } } } }",
      'runs.review.on.push[0] "created" is not an action of push, which has none. Write an empty ' +
        'list: push: []',
    ],
    [
      '{ channels: { slack: {} } }',
      'channels has the channel "slack", which this version does not',
    ],
    [
      '{ channels: { github_status: {} } }',
      'channels has the unknown key "github_status". Did you mean "github-status"?',
    ],
    [
      '{ webhookSecret: 1 }',
      'the default export has the unknown key "webhookSecret". Known keys: host, port,',
    ],
    ["{ runs: { review: { run: 'local' } } }", `runs.review.run is "local" but ${runForms}`],
    [
      "{ runs: { review: { run: { type: 'remote' } } } }",
      `runs.review.run is an object but ${runForms}`,
    ],
    ["{ runs: { review: { run: ['make'] } } }", `runs.review.run is a list but ${runForms}`],
    [
      '{ runs: { review: { anchor: null } } }',
      'runs.review.anchor is null but must be { per: ... } or false',
    ],
    [
      '{ runs: { review: { status: [] } } }',
      'runs.review.status is a list but must be { context: ... } or false',
    ],
    [
      '{ runs: { review: { run: { command: [] } } } }',
      'runs.review.run.command must name a program',
    ],
    [
      "{ runs: { review: { run: { command: 'make' } } } }",
      "runs.review.run.command is \"make\" but must be a list, such as ['node', 'build.mjs']",
    ],
    [
      "{ runs: { review: { run: { comand: ['a'] } } } }",
      'runs.review.run has the unknown key "comand". Did you mean "command"?',
    ],
    [
      "{ runs: { review: { run: { command: ['a'], env: ['A-B'] } } } }",
      'runs.review.run.env[0] is "A-B" but must be the name of an environment variable',
    ],
    [
      "{ runs: { review: { run: { command: ['a'], env: ['HOLDFAST_ADMIN_TOKEN'] } } } }",
      'runs.review.run.env[0] is a variable of Holdfast itself',
    ],
    [
      '{ runs: { review: { concurrency: 0 } } }',
      'runs.review.concurrency is 0 but must be a whole number from 1 to 1000',
    ],
    ['{ tasks: {} }', 'the default export has the key "tasks", which this version does not'],
    ['{ notify: [] }', 'the default export has the key "notify", which this version does not'],
    [
      "{ channels: { 'github-comment': { inDoubt: 'hold' } } }",
      'channels.github-comment has the key "inDoubt", which this version does not support: ',
    ],
    [
      '{ runs: { review: { anchor: true } } }',
      'runs.review.anchor is true but must be { per: ... } or false',
    ],
    [
      "{ runs: { review: { anchor: { per: 'x' } } } }",
      'runs.review.anchor.per is "x" but must be one of',
    ],
    [
      "{ runs: { review: { status: { context: '' } } } }",
      'runs.review.status.context is "" but must be',
    ],
    ["{ channels: { 'a b': {} } }", 'channels has the unknown key "a b". Known keys: github-'],
    [
      '{ retention: { inboxDays: 3 } }',
      'retention.inboxDays is 3 but must be a whole number from 4',
    ],
    ['{ retention: { days: 3 } }', 'retention has the unknown key "days"'],
  ])('%s is refused by its path', async (code, message) => {
    const error = await errorOf(loadText(`export default ${code}`))
    expect(error.message).toContain(`${path}: ${message}`)
    expect(error.message).not.toContain('hunter2')
  })

  test('a value that cannot be read hides no other problem', async () => {
    const { problems } = await errorOf(
      loadText('export default { prot: 1, get runs() { throw new Error("no") } }'),
    )
    expect(problems).toEqual([
      `${path}: runs could not be read: Error: no`,
      expect.stringContaining('the unknown key "prot"'),
    ])
  })

  test('a configuration that contains itself is checked too', async () => {
    const { problems } = await errorOf(loadText('const a = {}; a.runs = a; export default a'))
    expect(problems.join()).toContain('runs.runs has the unknown key "runs"')
  })

  test('a getter and an object without a prototype are fine', async () => {
    const given = 'Object.assign(Object.create(null), { get port() { return 5 } })'
    expect((await loadText(`export default ${given}`)).port).toBe(5)
  })

  test('a secret in the wrong place is not shown', async () => {
    const token = `ghp_${'a1B2'.repeat(9)}`
    const { message } = await errorOf(
      loadText(`export default { runs: { a: { run: '${token}' } } }`),
    )
    expect(message).toContain('runs.a.run is "ghp_(hidden)" but must be a function')
  })

  test.each([
    "a: { status: { context: 'acme/x' } }, b: { status: { context: 'Acme/X' } }",
    "a: {}, b: { status: { context: 'holdfast/a' } }",
    "a: { status: { context: 'acme/x' } }, b: { status: { context: 'acme/\u200bx ' } }",
  ])('two run types may not share a context: %s', async (types) => {
    const { message } = await errorOf(loadText(`export default { runs: { ${types} } }`))
    expect(message).toContain('runs.b.status.context is')
    expect(message).toContain('which runs.a has too')
    expect(message).not.toContain('reserved')
  })

  test.each([
    ["docs: { status: { context: 'holdfast/review' } }", 'review'],
    ["docs: { status: { context: 'Holdfast/Review' } }", 'review'],
  ])('the context of another run type is reserved for it: %s', async (types, other) => {
    const { message } = await errorOf(loadText(`export default { runs: { ${types} } }`))
    expect(message).toMatch(/runs\.docs\.status\.context is "holdfast\/\w+", which is reserved/i)
    expect(message).toContain(`for the run type "${other}"`)
  })

  test('a run type may name its own context', async () => {
    const types = "docs: { status: { context: 'Holdfast/docs' } }, ci: {}"
    await expect(loadText(`export default { runs: { ${types} } }`)).resolves.toBeDefined()
  })
})

describe('all problems are reported at once', () => {
  const faults = `{
    prot: 1,
    prott: 2,
    port: 70000,
    leaseMs: 5,
    retention: { inboxDays: 3, finishedDays: 0 },
    runs: {
      Wrong: { attempts: 0 },
      a: { onNewer: 'x', attempts: 0, on: { pushes: [], pull_request: ['open', 1], push: 'x' } },
      b: { status: { context: 'holdfast/a', chekc: true } },
      c: { publish: { contexts: ['holdfast/own', 5], labels: 'x' } },
      d: 5,
      e: { status: { context: 7 } },
    },
  }`
  const messages = [
    'the default export has the unknown key "prot"',
    'the default export has the unknown key "prott"',
    'port',
    'leaseMs',
    'retention.inboxDays is 3',
    'retention.finishedDays is 0',
    'runs.Wrong is not a valid name for a run type',
    'runs.Wrong.attempts is 0',
    'runs.a.onNewer is "x"',
    'runs.a.attempts is 0',
    'runs.a.on.pushes is not a GitHub event',
    'runs.a.on.pull_request[0] "open" is not an action',
    'runs.a.on.pull_request[1] is 1',
    'runs.a.on.push is "x"',
    'runs.b.status has the unknown key "chekc"',
    'runs.b.status.context is "holdfast/a", which runs.a has too',
    'runs.c.publish.contexts has "holdfast/own", which is reserved',
    'runs.c.publish.contexts[1] is 5',
    'runs.c.publish.labels is "x"',
    'runs.d is 5',
    'runs.e.status.context is 7',
  ]
  const without = (problem: string, ...places: readonly string[]): string =>
    places.reduce((text, place) => text.replace(place, ''), problem)

  test('of the file, and of the environment beside it', async () => {
    const { problems } = await errorOf(loadText(`export default ${faults}`, { HOLDFAST_PORT: 'x' }))
    const words = problems.map((problem) => without(problem, `${path}: `, ` (from ${path})`))
    for (const start of messages) {
      expect(
        words.filter((word) => word.startsWith(start)),
        start,
      ).toHaveLength(1)
    }
    expect(words).toContainEqual(expect.stringContaining('HOLDFAST_PORT'))
    expect(words).toHaveLength(messages.length + 1)
  })

  test('also to a program that opens the library', async () => {
    const given = (await import(`data:text/javascript,export default ${faults}`)) as {
      readonly default: object
    }
    const { problems } = await errorOf(openHoldfast(given.default))
    expect(problems).toHaveLength(messages.length)
  })

  const env = { HOLDFAST_PORT: 'x' }

  test('also those of the environment if the file could not be run', async () => {
    expect((await errorOf(loadText('throw new Error("no")', env))).problems).toEqual([
      expect.stringContaining('could not be run'),
      expect.stringContaining('HOLDFAST_PORT'),
    ])
  })

  test('also those of the environment if the file exports nothing, with the remedy', async () => {
    const silent = await errorOf(loadText('export const port = 1', env))
    expect(silent.problems).toHaveLength(2)
    expect(silent.hint).toContain('export default defineConfig')
  })

  test('and none twice, even if a number is wrong in more than one way', async () => {
    const { problems } = await errorOf(
      loadText('export default { runs: { a: { timeoutMs: 0.5 } }, retention: { auditDays: 0.5 } }'),
    )
    expect(problems).toHaveLength(2)
  })

  test('but none that may disappear after a correction', async () => {
    const runs = "{ a: { status: { context: 5 } }, b: { status: { context: 'holdfast/a' } } }"
    const { problems } = await errorOf(loadText(`export default { runs: ${runs} }`))
    expect(problems).toEqual([expect.stringContaining('runs.a.status.context is 5')])
  })
})
