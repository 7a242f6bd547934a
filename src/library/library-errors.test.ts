/**
 * Goal: no error of the library names a remedy that its caller does not have: an environment
 * variable, the config file, a command or an address of a server, or a field as HTTP spells it.
 * Method: the tests cause the errors that can be caused. For the others they read the source that
 * the library uses: each has its own text here or is listed as out of reach.
 */
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { HoldfastError, InvalidInputError } from '../errors.ts'
import { openHoldfast, type OpenOptions } from './open-holdfast.ts'
import { libraryTexts } from './library-errors.ts'

const claim = {
  repo: 'acme/widgets',
  prNumber: 5,
  baseSha: 'b'.repeat(40),
  headSha: 'a'.repeat(40),
  eventAt: new Date(0),
}
const memory = { databaseUrl: 'sqlite::memory:' }
/** What only the operator of a server has. */
const notHere = new RegExp(
  /\b(HOLDFAST|GITHUB)_[A-Z_]+|holdfast\.config|\/v1\/|[a-z]+_[a-z]+/.source +
    /|holdfast (serve|worker|runs|deliveries|inbox|audit|budgets|why|keys|token|doctor)/.source,
)

async function refusalOf(call: Promise<unknown>): Promise<HoldfastError> {
  const error: unknown = await call.then(
    () => null,
    (reason: unknown) => reason,
  )
  if (error instanceof HoldfastError) return error
  throw new Error('it was not refused')
}

const openFor = async (config: object, options: OpenOptions = {}): Promise<never> => {
  await (await openHoldfast(config, options)).close()
  throw new Error('it was opened')
}

describe('a refusal names what its caller can change', () => {
  it('if a type may not publish something', async () => {
    const holdfast = await openHoldfast(memory)
    const gate = await holdfast.checkAndClaimRun(claim)
    const refusal = await refusalOf(
      gate.publish('todo', { channel: 'github-label', label: 'todo' }),
    )
    expect(refusal).toMatchObject({ name: 'ForbiddenError', code: 'publish_not_allowed' })
    expect(refusal.hint).toBe(
      'Allow it in the configuration of openHoldfast: ' +
        'runs: { "review": { publish: { labels: ["todo"] } } }',
    )
    await holdfast.close()
  })

  it('if the time of an event is in the future', async () => {
    const holdfast = await openHoldfast(memory)
    const eventAt = new Date('9999-01-01T00:00:00Z')
    const refusal = await refusalOf(holdfast.checkAndClaimRun({ ...claim, eventAt }))
    expect(refusal).toBeInstanceOf(InvalidInputError)
    expect(refusal).toMatchObject({ code: 'event_in_future', field: 'eventAt' })
    expect(refusal.message).toMatch(/^eventAt is more than five minutes ahead/)
    await holdfast.close()
  })

  it('if the database cannot be reached, or is not a Holdfast database', async () => {
    const away = await refusalOf(openFor({ databaseUrl: 'postgres://nobody@127.0.0.1:1/none' }))
    expect(away).toMatchObject({ name: 'StoreUnavailableError', code: 'store_unreachable' })
    expect(away.hint).toMatch(/databaseUrl is right/)
    const folder = mkdtempSync(join(tmpdir(), 'holdfast-words-'))
    const foreign = await refusalOf(openFor({ databaseUrl: `sqlite:${folder}` }))
    expect(foreign).toMatchObject({ code: 'store_foreign', hint: 'Point databaseUrl at a file.' })
    rmSync(folder, { recursive: true })
  })

  it.each([
    ['postgres://me:hunter2@127.0.0.1:1/none', '127.0.0.1:1'],
    ['postgres:///none?host=/no/such/folder&port=7&password=hunter2', '/no/such/folder (port 7)'],
  ])('if the database %s cannot be reached, without its password', async (databaseUrl, place) => {
    const away = await refusalOf(openFor({ databaseUrl }))
    expect(away.message).toContain(`the database at ${place} cannot be reached (E`)
    expect(`${away.message} ${away.hint ?? ''}`).not.toContain('hunter2')
  })

  it.each([
    [{ adminToken: 'x' }, 'sets adminToken, which only a server needs. Remove it'],
    [{ githubToken: 'x' }, 'sets githubToken, which belongs in openHoldfast(config, { github })'],
    [{ githubPrivateKey: 'x' }, 'which belongs in openHoldfast(config, { github })'],
    [{ githubAppId: '12' }, 'sets githubAppId, which belongs in openHoldfast(config, { github })'],
    [{ githubApiUrl: 'http://gh.test' }, 'openHoldfast: githubApiUrl is http://gh.test'],
  ])('if the configuration is %j', async (config, text) => {
    const { message } = await refusalOf(openFor({ ...memory, ...config }))
    expect(message).toContain(text)
    expect(message).not.toMatch(notHere)
  })
})

describe('in the source that the library uses', () => {
  /** The library calls none of these verbs. */
  const outOfReach = new Set([
    ...['delivery_not_found', 'inbox_entry_not_found', 'identity_not_found', 'invalid_cursor'],
    ...['backup_failed', 'backup_damaged', 'backup_target', 'marker_keys'],
    ...['store_in_use', 'github_token_unavailable'],
    ...['target_used', 'target_not_empty'],
  ])
  const root = fileURLToPath(new URL('../..', import.meta.url))
  const files = globSync(['src/*.ts', 'src/{stores,runs,domain,channels,github}/**/*.ts'], {
    cwd: root,
    exclude: [
      ...['**/*.test.ts', 'src/compose*.ts', 'src/connect.ts', 'src/standalone.ts'],
      'src/stores/verbs/tokens/tokens.ts',
    ],
  })
  const made = files.flatMap((file) =>
    [
      ...readFileSync(join(root, file), 'utf8').matchAll(
        /new \w+Error\(\s*'([a-z_]+)',(.*?)\n {0,4}[})]/gs,
      ),
    ].map(([, code = '', args = '']) => ({ code, args: args.replaceAll(/\$\{[^}]*\}/g, '') })),
  )

  it('errors are found in the source', () => {
    expect(made.length).toBeGreaterThan(30)
    for (const code of ['event_in_future', 'repo_id_mismatch', 'run_not_found', 'store_foreign']) {
      expect(made.map((one) => one.code)).toContain(code)
    }
  })

  it.each(made)(
    '$code names no remedy that is missing here, or has its own text',
    ({ code, args }) => {
      const texts = [...args.matchAll(/(['"`])(.*?[^\\])\1/gs)]
        .map((literal) => literal[2])
        .join(' ')
      if (notHere.test(texts)) expect([...Object.keys(libraryTexts), ...outOfReach]).toContain(code)
    },
  )
})
