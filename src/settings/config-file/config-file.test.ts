import { defaultRights } from '../../channels/github-channels.ts'
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { loadSettings } from '../load-settings.ts'
import { permissionsOf } from '../run-types/permissions.ts'
import { publishRights } from '../run-types/publish-rights.ts'
import { runPolicy } from '../run-types/run-policy.ts'
import { SettingsError } from '../settings-error.ts'

let cwd = ''
let path = ''
beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), 'holdfast-config-'))
  path = join(cwd, 'holdfast.config.ts')
})

const load = (config?: string) => loadSettings({ env: {}, cwd, config })
const loadText = (text: string) => {
  writeFileSync(path, text)
  return load()
}

async function errorOf(loading: Promise<unknown>): Promise<SettingsError> {
  const error: unknown = await loading.then(
    () => null,
    (reason: unknown) => reason,
  )
  if (error instanceof SettingsError) return error
  throw new Error(`expected a SettingsError, got ${String(error)}`)
}

describe('the file', () => {
  test('is TypeScript that Node runs without a build', async () => {
    const settings = await loadText('const port: number = 1234\nexport default { port }')
    expect(settings).toMatchObject({ port: 1234, configFile: path })
  })

  test('can be in another folder', async () => {
    writeFileSync(join(cwd, 'other.ts'), 'export default { port: 5 }')
    expect((await load('other.ts')).port).toBe(5)
  })

  test.each(['js', 'mjs', 'cjs', 'cts', 'json'])(
    'named .%s is refused, not ignored',
    async (ending) => {
      const other = join(cwd, `holdfast.config.${ending}`)
      writeFileSync(other, 'export default { port: 5 }')
      const error = await errorOf(load())
      expect(error.message).toBe(`${other} is not read: the config file is holdfast.config.ts`)
      expect(error.hint).toContain('Rename it to holdfast.config.ts.')
      // Beside the right one it may be what a build made of it.
      expect((await loadText('export default { port: 6 }')).port).toBe(6)
    },
  )

  test.each([
    ['missing.ts', 'does not exist'],
    ['.', 'is not a file'],
    ['other.ts/holdfast.config.ts', 'cannot be read (ENOTDIR)'],
  ])('named %s is refused because it %s', async (name, why) => {
    writeFileSync(join(cwd, 'other.ts'), '')
    const error = await errorOf(load(name))
    expect(error.message).toBe(`The config file ${join(cwd, name)} ${why}`)
  })

  test('may not be a folder', async () => {
    mkdirSync(path)
    expect((await errorOf(load())).message).toContain('is not a file')
  })

  test.each([
    ["throw new Error('no database here')", 'Error: no database here'],
    ["throw 'text'", 'it threw something that is not an Error'],
    ['export default {', ''],
    ["import 'not-a-package-of-anybody'", 'not-a-package-of-anybody'],
  ])('with %j is refused because it could not be run', async (text, why) => {
    const { message } = await errorOf(loadText(text))
    expect(message).toContain(`The config file ${path} could not be run: `)
    expect(message).toContain(why)
  })

  test('without a default export is refused with that reason', async () => {
    const error = await errorOf(loadText('export const port = 1'))
    expect(error.message).toBe(`The config file ${path} has no default export`)
    expect(error.hint).toContain('export default defineConfig')
  })
})

test('the example of the reference page loads', async () => {
  const page = readFileSync(new URL('../../../docs/reference/settings.md', import.meta.url), 'utf8')
  const [, example = ''] = /```ts\n(import \{ defineConfig[^]*?)```/.exec(page) ?? []
  const config = new URL('../../config.ts', import.meta.url).href
  const settings = await loadText(example.replace("'holdfast'", JSON.stringify(config)))
  expect(Object.keys(settings.runs)).toEqual(['review', 'docs'])
})

describe('types', () => {
  test('without a file there is the review type', async () => {
    const { runs } = await load()
    expect(runs).toEqual({
      review: {
        on: { pull_request: ['opened', 'reopened', 'ready_for_review', 'synchronize', 'edited'] },
        rerunOn: { pull_request: ['review_requested'], check_run: ['rerequested'] },
        when: expect.any(Function),
        by: null,
        own: false,
        timeoutMs: 3_600_000,
        pendingTimeoutMs: 3_600_000,
        attempts: 3,
        run: 'remote',
        concurrency: 4,
        onNewer: null,
        publish: {
          channels: [...defaultRights.channels],
          contexts: [],
          labels: [],
          approve: false,
        },
        anchor: { per: 'subject' },
        statusContext: 'holdfast/review',
        check: true,
        permissions: { contents: 'read', issues: 'read', pull_requests: 'read' },
      },
    })
    const opened = { name: 'pull_request', action: 'opened', repo: 'a/b', sender: 'c' }
    const review = (user: unknown) =>
      runs['review']?.when?.({ ...opened, payload: { pull_request: { user } } })
    expect([review({ type: 'User' }), review(null), review({ type: 'Bot' })]).toEqual([
      true,
      true,
      'bot author',
    ])
  })

  test('a file without runs keeps the defaults', async () => {
    expect(Object.keys((await loadText('export default { port: 1 }')).runs)).toEqual(['review'])
  })

  test('a file that names the built-in type changes only what it says', async () => {
    const { runs: defaults } = await load()
    const { runs } = await loadText('export default { runs: { review: { timeoutMs: 60000 } } }')
    expect(runs).toEqual({ review: { ...defaults['review'], timeoutMs: 60_000 } })
  })

  test('a custom type starts only by claims unless the file says more', async () => {
    const other = await loadText(
      'export default { runs: { review: { on: {}, rerunOn: {} }, docs: { timeoutMs: 60000 } } }',
    )
    expect(other.runs['review']).toMatchObject({ on: {}, rerunOn: {}, when: expect.any(Function) })
    expect(other.runs['docs']).toMatchObject({ on: {}, rerunOn: {}, when: null })
  })

  test('runs without an entry mean that there are no types', async () => {
    expect((await loadText('export default { runs: {} }')).runs).toEqual({})
  })

  test('every field is used', async () => {
    const settings = await loadText(`export default {
      runs: {
        review: {
          on: { pull_request: ['opened'] }, rerunOn: { check_run: ['rerequested'] },
          when: () => 'no', by: 'write', own: true, run: 'remote',
          timeoutMs: 1_800_000, pendingTimeoutMs: 5000, attempts: 2,
          onNewer: 'skip', anchor: false, status: { context: 'acme/review' },
        },
        docs: { anchor: { per: 'run' } },
      },
      retention: { finishedDays: 14 },
    }`)
    expect(settings.runs['review']).toMatchObject({
      by: 'write',
      own: true,
      onNewer: 'skip',
      anchor: false,
      statusContext: 'acme/review',
    })
    expect(settings.runs['docs']).toMatchObject({
      anchor: { per: 'run' },
      statusContext: 'holdfast/docs',
    })
    expect(settings.retention).toEqual({
      finishedDays: 14,
      supersededDays: 7,
      inboxDays: 7,
      auditDays: 90,
    })
  })
})

describe('the policy of a run', () => {
  const defaults = { attempts: 3, timeoutMs: 3_600_000, pendingTimeoutMs: 3_600_000 }

  test.each(['review', 'unheard-of', 'constructor', '__proto__'])(
    'of type %s supersedes for pull requests and queues for jobs',
    async (type) => {
      const settings = await load()
      const shown = { statusContext: `holdfast/${type}`, checkName: null, locale: 'en' }
      expect(runPolicy(settings, type, 'pull_request')).toEqual({
        ...defaults,
        onNewer: 'supersede',
        announcement: { ...shown, anchorPer: 'subject' },
      })
      expect(runPolicy(settings, type, 'job')).toEqual({
        ...defaults,
        onNewer: 'queue',
        announcement: { ...shown, anchorPer: null },
      })
    },
  )

  test('is the one in the file', async () => {
    const policy = { attempts: 1, timeoutMs: 2000, pendingTimeoutMs: 3000, onNewer: 'skip' }
    const settings = await loadText(`export default { runs: { a: ${JSON.stringify(policy)} } }`)
    expect(runPolicy(settings, 'a', 'pull_request')).toMatchObject(policy)
    expect(runPolicy(settings, 'a', 'job')).toMatchObject(policy)
  })

  test('shows what the file allows, in its language, and a check run only as an App', async () => {
    const settings = await loadText(`export default { locale: 'ru', runs: {
      a: { anchor: { per: 'run' }, status: { context: 'acme/a' } },
      b: { anchor: false, status: false },
      c: { status: { check: false } },
    } }`)
    const shown = (type: string, appId: string | null) =>
      runPolicy({ ...settings, githubAppId: appId }, type, 'pull_request').announcement
    expect(shown('a', '7')).toEqual({
      anchorPer: 'run',
      statusContext: 'acme/a',
      checkName: 'acme/a',
      locale: 'ru',
    })
    expect(shown('a', null).checkName).toBeNull()
    expect(shown('b', '7')).toMatchObject({ anchorPer: null, statusContext: null, checkName: null })
    expect(shown('c', '7')).toMatchObject({ statusContext: 'holdfast/c', checkName: null })
  })

  test('of an unknown type never shows under the context of a configured one', async () => {
    const loaded = await loadText('export default { runs: { a: {} } }')
    const runs = { a: { ...loaded.runs['a']!, statusContext: 'Holdfast/b' } }
    const settings = { ...loaded, runs, githubAppId: '7' }
    const { announcement } = runPolicy(settings, 'b', 'pull_request')
    expect(announcement).toMatchObject({ statusContext: null, checkName: null })
  })
})

describe('the outputs that runs may publish', () => {
  test('are those of their type, and never a context of another type', async () => {
    const settings = await loadText(`export default { runs: {
      a: { status: { context: 'acme/a' }, publish: { contexts: ['ci/*'], labels: ['x'] } },
      b: { publish: { channels: ['github-comment'], approve: true } },
    } }`)
    const rights = publishRights(settings)
    const reserved = ['acme/a', 'holdfast/b']
    expect(rights('a')).toEqual({
      channels: [...defaultRights.channels, 'github-status', 'github-check', 'github-label'],
      contexts: ['ci/*'],
      labels: ['x'],
      approve: false,
      reserved,
    })
    expect(rights('b')).toMatchObject({ channels: ['github-comment'], approve: true })
    expect(rights('constructor')).toEqual({ ...defaultRights, reserved })
  })

  test.each(['acme/B', 'holdfast/other', 'acme/\u00adb'])('%j is refused', async (context) => {
    const publish = JSON.stringify({ contexts: [context] })
    const types = `a: { publish: ${publish} }, b: { status: { context: 'acme/b' } }`
    const { message } = await errorOf(loadText(`export default { runs: { ${types} } }`))
    expect(message).toContain('runs.a.publish.contexts has')
    expect(message).toContain('reserved for the result of a run type')
  })
})

describe('the permissions of the GitHub token of a run', () => {
  test('are those of its type, all of them', async () => {
    const permissionsFor = permissionsOf(
      await loadText(`export default { runs: {
        docs: { permissions: { contents: 'write', pages: 'write' } },
        lint: { permissions: { contents: undefined } },
        bare: { permissions: {} },
      } }`),
    )
    expect(permissionsFor('docs')).toEqual({ contents: 'write', pages: 'write' })
    const reading = { contents: 'read', issues: 'read', pull_requests: 'read' }
    for (const unknown of ['other', 'constructor']) {
      expect(permissionsFor(unknown)).toEqual(reading)
    }
    // Without any name, GitHub would give the token everything that the App may do.
    for (const empty of ['lint', 'bare']) {
      expect(permissionsFor(empty)).toEqual({ metadata: 'read' })
    }
  })
})
