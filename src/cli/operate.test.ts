import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { packBody } from '../intake/events/payload.ts'
import { sha, storeWorld, type StoreWorld } from '../../test/cli/store-world.ts'
import { FakeWorld } from '../../test/cli/fake-world.ts'

let at: StoreWorld
beforeEach(async () => {
  at = await storeWorld()
})
afterEach(() => at.close())

const claim = (pr: number, head: string) =>
  at.runs.claim(
    {
      kind: 'pull_request',
      type: 'review',
      repo: 'Acme/Widgets',
      pr,
      baseSha: sha('a'),
      headSha: sha(head),
      lease: false,
    },
    'test',
  )

const rowsOf = (text: string): string[][] =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => line.split('\t'))

describe('runs', () => {
  test.each([[['runs']], [['runs', 'list']]])('%j lists them, newest first', async (argv) => {
    await claim(5, 'b')
    await claim(5, 'c')
    const { code, stdout, stderr } = await at.command(...argv)
    const rows = rowsOf(stdout)
    expect(rows[0]?.slice(0, 4)).toEqual(['id', 'state', 'type', 'repo'])
    expect(rows.slice(1).map((row) => row[1])).toEqual(['pending', 'superseded'])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  })

  test('can be filtered by every filter', async () => {
    const { run } = await claim(5, 'b')
    await claim(6, 'c')
    const filters = [
      ['--repo', 'acme/Widgets', '--pr', '5'],
      ['--head-sha', sha('B')],
      ['--key', String(run?.key)],
      ['--state', 'pending', '--type', 'review', '--pr', '5'],
    ]
    for (const filter of filters) {
      const { stdout } = await at.command('runs', ...filter, '--json')
      const { items } = JSON.parse(stdout) as { items: { id: string }[] }
      expect([filter, items.map(({ id }) => id)]).toEqual([filter, [run?.id]])
    }
  })

  test('come page by page, or all of them with a flag', async () => {
    for (const head of ['1', '2', '3']) await claim(Number(head), head)
    const first = await at.command('runs', '--limit', '2')
    expect(rowsOf(first.stdout)).toHaveLength(3)
    const cursor = /--cursor (\S+)\n/.exec(first.stderr)?.[1] ?? ''
    const second = await at.command('runs', '--limit', '2', '--cursor', cursor)
    expect(rowsOf(second.stdout)).toHaveLength(2)
    expect(second.stderr).toBe('')

    const all = await at.command('runs', '--limit', '2', '--all')
    expect(rowsOf(all.stdout)).toHaveLength(4)
    const json = await at.command('runs', '--limit', '1', '--all', '--json')
    const document = JSON.parse(json.stdout) as { items: object[]; next_cursor: null }
    expect(document.items).toHaveLength(3)
    expect(document.next_cursor).toBeNull()
  })

  test('are reported as none on standard error, and that is not a failure', async () => {
    expect(await at.command('runs', '--state', 'failed')).toMatchObject({
      code: 0,
      stderr: 'No runs.\n',
    })
    const json = await at.command('runs', '--json')
    expect(json).toEqual({ code: 0, stdout: '{"items":[],"next_cursor":null}\n', stderr: '' })
  })

  test('fit a terminal, in colour, with times for people', async () => {
    await claim(5, 'b')
    at.world.terminal.columns = 80
    at.world.terminal.colour = true
    const { stdout } = await at.command('runs')
    const [, row = ''] = stdout.split('\n')
    expect(row).toContain('\x1b[36mpending\x1b[39m')
    expect(row).toContain('acme/widgets#5')
    expect(row.replaceAll('\x1b', '')).toMatch(/(now|\d s ago)\[22m$/)
  })

  test('can be shown one by one in detail, and as JSON', async () => {
    const { run } = await claim(5, 'b')
    const id = String(run?.id)
    const shown = await at.command('runs', 'show', id)
    expect(shown.stdout).toContain(`id\t${id}\nstate\tpending\n`)
    const json = await at.command('runs', 'show', id, '--json')
    expect(JSON.parse(json.stdout)).toMatchObject({ id, repo: 'acme/widgets', state: 'pending' })
  })

  test('can be cancelled and rerun by the command line, and the audit says so', async () => {
    const { run } = await claim(5, 'b')
    const id = String(run?.id)
    const cancelled = await at.command('runs', 'cancel', id)
    expect(cancelled.stdout).toBe(`${id} (acme/widgets#5) is cancelled.\n`)
    const again = await at.command('runs', 'rerun', id)
    expect(again.stdout).toBe(`${id} (acme/widgets#5) is pending again in round 2.\n`)
    const wanted = await at.command('runs', 'rerun', id, '--json')
    expect(JSON.parse(wanted.stdout)).toMatchObject({ should_process: false, reason: 'duplicate' })
    const { items } = await at.store.audit.list({ runId: id }, { limit: 10, cursor: null })
    const actors = items.map(({ type, actor }) => `${type} ${actor}`)
    expect(actors).toContain('run.cancelled cli')
    expect(actors).toContain('run.claimed cli')
  })

  test.each([
    ['nope', 'No runs. Types of the newest runs: review\n'],
    ['reviw', 'No runs. Did you mean "review"?\n'],
  ])('of the unknown type %s are none, and the known types are named', async (type, stderr) => {
    expect(await at.command('runs', '--type', type)).toMatchObject({
      code: 0,
      stderr: 'No runs.\n',
    })
    await claim(5, 'b')
    expect(await at.command('runs', '--type', type)).toMatchObject({ code: 0, stderr })
  })

  test.each([
    [['show', 'run_nope'], 1, 'There is no run run_nope', 'holdfast runs'],
    [['cancel', 'run_nope'], 1, 'There is no run run_nope', 'holdfast runs'],
    [['rerun', 'run_nope'], 1, 'There is no run run_nope', 'holdfast runs'],
    [['show', '../tokens'], 2, 'An id has 1 to 100 letters', 'List runs: holdfast runs'],
    [['cancel', 'acme/widgets#6'], 2, 'An id has 1 to', 'holdfast runs --repo acme/widgets --pr 6'],
    [['show'], 2, 'Missing argument: holdfast runs show <id>', '--help'],
    [['shwo'], 2, 'Unknown command "shwo". Did you mean "show"?', ''],
    [['--state', 'broken'], 2, '--state must be pending, running', ''],
    [['--pr', 'x'], 2, '--pr must be a', ''],
    [['--head-sha', 'abc'], 2, '--head-sha must be a full sha', ''],
    [['--limit', '0'], 2, '--limit must be a whole number from 1 to 1000', ''],
    [['--cursor', 'zzz'], 2, '--cursor "zzz" is not a cursor of Holdfast', 'Leave it out'],
  ])('%j ends with %i', async (argv, code, message, hint) => {
    const done = await at.command('runs', ...argv)
    expect(done.stderr).toContain(message)
    expect(done.stderr).toContain(hint)
    expect({ code: done.code, stdout: done.stdout }).toEqual({ code, stdout: '' })
  })
})

describe('audit', () => {
  test('lists what happened, filtered by run, type and time', async () => {
    const { run } = await claim(5, 'b')
    await claim(6, 'c')
    const id = String(run?.id)
    const { stdout } = await at.command('audit', '--run', id)
    expect(rowsOf(stdout).map((row) => row[2])).toEqual(['type', 'run.claimed'])
    const none = await at.command('audit', '--since', '2100-01-01T00:00:00Z')
    expect(none.stderr).toBe('No events.\n')
    const wrong = await at.command('audit', '--since', 'yesterday')
    expect(wrong).toMatchObject({ code: 2, stdout: '' })
    expect(wrong.stderr).toContain('--since must be an RFC 3339 time')
  })

  test.each(['SIGINT', 'SIGTERM'])(
    'can be followed until %s, with each event once',
    async (signal) => {
      await claim(1, '1')
      await claim(2, '2')
      at.world.stdout = ''
      const tail = at.world.run('audit', 'tail', '-n', '1', '--json')
      await at.world.untilPrinted('"order":2')
      await claim(3, '3')
      await at.world.untilPrinted('"order":3')
      at.world.stop(signal)
      expect(await tail).toBe(0)
      const ids = at.world.stdout
        .trimEnd()
        .split('\n')
        .map((line) => (JSON.parse(line) as { id: number }).id)
      expect(ids).toEqual([2, 3])
      expect(at.world.stopHandlers).toEqual([])
    },
  )

  test('is followed only while its output is read', async () => {
    const tail = at.world.run('audit', 'tail')
    await at.world.untilPrinted('run_id')
    at.world.stopReading()
    expect(await tail).toBe(0)
  })

  test('accepts 0 to 1000 with -n', async () => {
    const { code, stderr } = await at.command('audit', 'tail', '-n', '1001')
    expect(code).toBe(2)
    expect(stderr).toContain('-n (--last) must be a whole number from 0 to 1000')
  })
})

describe('inbox', () => {
  const guid = '72d3162e-cc78-11e3-81ab-4c9367dc0958'
  const receive = () =>
    at.store.inbox.receive({
      webhookId: guid,
      event: 'pull_request',
      action: 'opened',
      repo: 'acme/widgets',
      repoId: 1,
      number: 5,
      sender: 'mona\x1b[2J',
      lane: 'acme/widgets#5',
      eventAt: null,
      prState: 'open',
      decision: 'ignored',
      reason: 'no-listener',
      outcomes: [],
      eventKey: null,
      head: null,
      waits: false,
      body: {
        headers: '{"x-github-event":"pull_request"}',
        body: packBody(Buffer.from('{"a":1}')),
      },
    })

  test('lists webhooks and shows one by its GUID, with its payload only as JSON', async () => {
    await receive()
    const { stdout } = await at.command('inbox', '--repo', 'Acme/Widgets', '--number', '5')
    expect(rowsOf(stdout)[1]?.slice(1, 5)).toEqual([guid, 'processed', 'ignored', 'no-listener'])
    at.world.terminal.columns = 80
    const shown = await at.command('inbox', 'show', guid)
    expect(shown.stdout).toMatch(/^sender +mona\\x1b\[2J$/m)
    expect(shown.stdout).toMatch(/^event +pull_request\.opened$/m)
    const json = await at.command('inbox', 'show', guid, '--json')
    expect(JSON.parse(json.stdout)).toMatchObject({ webhook_id: guid, payload: { a: 1 } })
  })

  test('replays a webhook, with the command line as the actor', async () => {
    await receive()
    const { stdout } = await at.command('inbox', 'replay', guid)
    expect(stdout).toContain('is waiting. Show it: holdfast inbox show inb_')
    const audit = await at.command('audit', '--type', 'operator.replay_requested')
    expect(rowsOf(audit.stdout)[1]?.[3]).toBe('cli')
  })

  test.each(['show', 'replay'])('ends %s of a missing webhook with 1', async (verb) => {
    const { code, stderr } = await at.command('inbox', verb, 'inb_nope')
    expect(code).toBe(1)
    expect(stderr).toContain('List webhooks: holdfast inbox')
  })
})

describe('why', () => {
  test('prints all to a pipe, and fits a terminal without cutting the command', async () => {
    const { run } = await claim(5, 'b')
    const id = String(run?.id)
    await at.store.runs.cancel(id, 'test', null)
    const piped = await at.command('why', 'acme/widgets#5')
    const json = await at.command('why', 'acme/widgets#5', '--json')
    expect(piped.stdout).toBe((JSON.parse(json.stdout) as { text: string }).text)
    at.world.terminal.columns = 50
    const { stdout } = await at.command('why', id)
    expect(stdout).toContain(`\n    holdfast runs rerun ${id}\n`)
    const others = stdout.split('\n').filter((line) => !line.includes('holdfast runs'))
    for (const line of others) expect(line.length).toBeLessThanOrEqual(50)
  })

  test.each([
    [['nonsense'], 2, 'The question "nonsense" must be owner/repo#5'],
    [['6'], 2, 'Name the repository, too: holdfast why OWNER/REPO#6'],
    [['#6'], 2, 'Name the repository, too: holdfast why OWNER/REPO#6'],
    [['widgets#5'], 2, 'Name the repository, too: holdfast why OWNER/widgets#5'],
    [['x'.repeat(200)], 2, 'The question must be owner/repo#5'],
    [[' '], 2, 'Ask about something'],
    [['run_nope'], 1, 'There is no run run_nope'],
    [[], 2, 'Missing argument: holdfast why <query>'],
  ])('%j ends with %i', async (argv, code, message) => {
    const done = await at.command('why', ...argv)
    expect(done).toMatchObject({ code, stdout: '' })
    expect(done.stderr).toContain(message)
  })
})

describe('tokens', () => {
  test('are created, listed and revoked', async () => {
    const made = await at.command('token', 'create', '--scope', 'read', '--name', 'ann', '--json')
    const { id } = JSON.parse(made.stdout) as { id: string }
    const list = await at.command('token', 'list')
    expect(rowsOf(list.stdout)[1]?.slice(0, 3)).toEqual([id, 'read', 'ann'])
    expect((await at.command('token', 'delete', id)).stdout).toBe(`${id} is revoked.\n`)
    const again = await at.command('token', 'delete', id)
    expect(again.code).toBe(1)
    expect(again.stderr).toContain('holdfast token list')
  })
})

describe('the database', () => {
  test('is reported as up to date, and a dry run shows what a new one would get', async () => {
    const current = await at.command('migrate')
    expect(current.stdout).toMatch(/is up to date: schema \d+\.\n$/)
    const dry = await at.command('migrate', '--dry-run', '--data-dir', 'elsewhere', '--json')
    const { from, applied, dry_run } = JSON.parse(dry.stdout) as {
      from: number
      applied: { version: number; name: string }[]
      dry_run: boolean
    }
    expect({ from, dry_run }).toEqual({ from: 0, dry_run: true })
    expect(applied[0]).toEqual({ version: 1, name: 'ledger' })
    expect((await at.command('runs', '--data-dir', 'elsewhere')).code).toBe(3)
    const made = await at.command('migrate', '--data-dir', 'elsewhere')
    expect(made.stdout).toContain('was updated from schema 0 to')
    expect((await at.command('runs', '--data-dir', 'elsewhere')).code).toBe(0)
  })

  test('is copied, and an existing copy is not replaced by accident', async () => {
    await claim(5, 'b')
    const made = await at.command('backup', 'copy.db', '--json')
    expect(JSON.parse(made.stdout)).toMatchObject({ file: join(at.world.cwd, 'copy.db') })
    const copied = await at.command('runs', '--database-url', 'sqlite:copy.db')
    expect(rowsOf(copied.stdout)).toHaveLength(2)
    const again = await at.command('backup', 'copy.db')
    expect(again).toMatchObject({ code: 1, stdout: '' })
    expect(again.stderr).toContain('copy.db already exists')
    expect((await at.command('backup', '--force', 'copy.db')).code).toBe(0)
  })

  test('of PostgreSQL is left to pg_dump, and the password is not shown', async () => {
    const url = 'postgres://me:hunter2@db.test/hold%20fast?sslmode=require&password=hunter2'
    const { code, stderr } = await at.command('backup', 'x y.dump', '--database-url', url)
    expect(code).toBe(1)
    expect(stderr).toContain(
      "umask 077; pg_dump --format=custom --schema=holdfast --file='x y.dump' " +
        "'postgres://me@db.test/hold%20fast?sslmode=require'",
    )
    expect(stderr).not.toContain('hunter2')
  })

  test('is purged by the retention in the settings', async () => {
    const { run } = await claim(5, 'b')
    await at.store.runs.cancel(String(run?.id), 'test', null)
    expect((await at.command('purge', '--json')).stdout).toBe('{"runs":0}\n')
    const db = new DatabaseSync(join(at.world.cwd, 'data', 'holdfast.db'))
    db.exec('UPDATE run SET finished_at = 1')
    db.close()
    const config = 'export default { retention: { finishedDays: 3, supersededDays: 5 } }'
    writeFileSync(join(at.world.cwd, 'holdfast.config.ts'), config)
    at.world.terminal.watched = true
    const { stdout, stderr } = await at.command('purge')
    expect(stdout).toBe(
      'Removed 1 run. Finished runs are kept for 3 days, superseded runs for 3 days.\n',
    )
    expect(stderr).toBe('\r\x1b[2KRemoved 1 run …\r\x1b[2K')
    expect(await at.store.runs.get(String(run?.id))).toBeNull()
  })
})

describe('without a database', () => {
  test.each([
    ['runs'],
    ['audit'],
    ['audit tail'],
    ['inbox'],
    ['token list'],
    ['purge'],
    ['backup x'],
  ])('%s says so and creates none', async (line) => {
    const world = new FakeWorld()
    expect(await world.run(...line.split(' '))).toBe(3)
    expect(world.stderr).toContain('There is no database at')
    expect(world.storesOpen).toBe(0)
  })
})

describe('a server address in the environment', () => {
  test('is used, unless a flag names a database', async () => {
    const world = new FakeWorld()
    world.env = { HOLDFAST_URL: 'http://127.0.0.1:9', HOLDFAST_TOKEN: 't' }
    const asked: string[] = []
    world.fetch = (url) => {
      asked.push(url as string)
      return Promise.resolve(new Response('{"items":[],"next_cursor":null}'))
    }
    expect(await world.run('runs', '--pr', '5')).toBe(0)
    expect(asked).toEqual(['http://127.0.0.1:9/v1/runs?pr=5&limit=100'])
    expect(await world.run('runs', '--data-dir', 'nowhere')).toBe(3)
    expect(asked).toHaveLength(1)
    world.env = { HOLDFAST_URL: 'nonsense' }
    expect(await world.run('runs')).toBe(2)
    expect(world.stderr).toContain('HOLDFAST_URL must be an address')
  })
})
