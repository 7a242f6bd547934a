/** What `deliveries` and `budgets` print and do, directly on a real database. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Delivery } from '../../domain/outbox/delivery.ts'
import { sha, storeWorld, type StoreWorld } from '../../../test/cli/store-world.ts'

let at: StoreWorld
let runId = ''
beforeEach(async () => {
  at = await storeWorld()
  const { run } = await at.runs.claim(
    {
      kind: 'pull_request',
      type: 'review',
      repo: 'Acme/Widgets',
      pr: 5,
      baseSha: sha('a'),
      headSha: sha('b'),
      lease: false,
    },
    'test',
  )
  runId = run?.id ?? ''
})
afterEach(() => at.close())

const stored = async (name: string): Promise<Delivery> => {
  const { items } = await at.store.outbox.list({ runId }, { limit: 10, cursor: null })
  const found = items.find((item) => item.name === name)
  if (found === undefined) throw new Error(`there is no ${name}`)
  return found
}

/** As if GitHub had refused them permanently. */
async function giveUp(): Promise<void> {
  const trouble = { code: 'forbidden', text: 'GitHub answered 403' }
  for (const { lease } of await at.store.outbox.lease({ limit: 10, progressMax: 10 })) {
    await at.store.outbox.record(lease, { what: 'invalid', trouble })
  }
}

const rowsOf = (text: string): string[][] =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => line.split('\t'))

interface Listed {
  readonly items: readonly { readonly id: string; readonly target: string }[]
}

describe('deliveries', () => {
  test('are listed with their subject', async () => {
    const { code, stdout } = await at.command('deliveries')
    const rows = rowsOf(stdout)
    expect(code).toBe(0)
    expect(rows[0]?.slice(0, 7)).toEqual('id status wait reason channel name target'.split(' '))
    expect(
      rows
        .slice(1)
        .map((row) => row[6])
        .sort(),
    ).toEqual(['acme/widgets#5', 'acme/widgets@bbbbbbb holdfast/review'])
  })

  test('can be filtered by every filter', async () => {
    const anchor = await stored('anchor')
    const filters = [
      ['--channel', 'github-comment'],
      ['--channel', 'github-comment', '--status', 'PENDING', '--wait', 'due', '--run', runId],
      ['--channel', 'github-comment', '--status', 'pending', '--wait', 'Due'],
    ]
    for (const filter of filters) {
      const { stdout } = await at.command('deliveries', 'list', ...filter, '--json')
      const { items } = JSON.parse(stdout) as Listed
      expect([filter, items.map(({ id }) => id)]).toEqual([filter, [anchor.id]])
    }
    expect(await at.command('deliveries', '--status', 'SENT')).toMatchObject({
      code: 0,
      stderr: 'No deliveries.\n',
    })
    const misspelt = await at.command('deliveries', '--channel', 'github-coment')
    const suggested = 'No deliveries. Did you mean "github-comment"?\n'
    expect(misspelt).toMatchObject({ code: 0, stderr: suggested })
    const open = await at.command('deliveries', '--channel', 'telegram')
    const channels = /^No deliveries\. Channels: github-comment, github-status, .*\n$/
    expect(open).toMatchObject({ code: 0, stderr: expect.stringMatching(channels) as string })
    const asJson = await at.command('deliveries', '--channel', 'telegram', '--json')
    expect(asJson).toEqual({ code: 0, stdout: '{"items":[],"next_cursor":null}\n', stderr: '' })
    const wrong = await at.command('deliveries', '--wait', 'tea')
    expect(wrong).toMatchObject({ code: 2 })
    expect(wrong.stderr).toContain('--wait must be ')
  })

  test('can be shown one by one, with their tries', async () => {
    await giveUp()
    const { id } = await stored('anchor')
    const { stdout } = await at.command('deliveries', 'show', id)
    const fields = Object.fromEntries(rowsOf(stdout).map(([name, value]) => [name, value]))
    expect(fields).toMatchObject({
      id,
      status: 'FAILED',
      reason: 'forbidden',
      error: 'forbidden: GitHub answered 403',
      target: 'acme/widgets#5',
    })
    const json = JSON.parse((await at.command('deliveries', 'show', id, '--json')).stdout) as object
    expect(json).toMatchObject({ id, attempts: [], content: { form: 'anchor' } })
    const missing = await at.command('deliveries', 'show', 'del_nope')
    expect(missing.code).toBe(1)
    expect(missing.stderr).toContain('List deliveries: holdfast deliveries')
  })

  test('are shown to people as on GitHub, with their state in words', async () => {
    await giveUp()
    const { id } = await stored('anchor')
    at.world.terminal.columns = 80
    const { stdout } = await at.command('deliveries', 'show', id)
    expect(stdout).toMatch(/^comment of review for acme\/widgets#5\nFailed: GitHub refuses it, /)
    expect(stdout).toContain(`\nSend it again: holdfast deliveries retry ${id}\n`)
    expect(stdout).toMatch(/^│ 🕓 review: waiting for a worker$/m)
    expect(stdout).not.toContain('{"form"')
  })

  test('can be retried one by one, or all that failed', async () => {
    await giveUp()
    const { id } = await stored('anchor')
    expect(await at.command('deliveries', 'retry', id)).toMatchObject({
      code: 0,
      stdout: `${id} (acme/widgets#5) is PENDING due.\n`,
    })
    await giveUp()
    const all = await at.command('deliveries', 'retry', '--all', '--channel', 'github-status')
    expect(all.stdout).toBe('1 delivery is sent again.\n')
    expect((await stored('anchor')).status).toBe('FAILED')
    const others = await at.command('deliveries', 'retry', '--all', '--json')
    expect(JSON.parse(others.stdout)).toEqual({ count: 1 })
    const { items } = await at.store.audit.list(
      { type: 'operator.delivery_retried' },
      { limit: 10, cursor: null },
    )
    expect(items.map(({ actor }) => actor)).toEqual(['cli', 'cli', 'cli'])
  })

  test.each([
    [['retry'], 'Name a delivery, or give --all'],
    [['retry', 'del_1', '--all'], 'not both'],
    [['retry', 'del_1', '--channel', 'github-status'], '--channel goes with --all'],
    [['retry', '--all', '--status', 'SENT'], '--status must be'],
    [['skip', 'del_1'], '--reason'],
    [['skip', 'del_1', '--reason', ' '], '--reason must not be empty'],
  ])('%j is wrong usage', async (argv, message) => {
    const { code, stderr } = await at.command('deliveries', ...argv)
    expect([code, stderr]).toEqual([2, expect.stringContaining(message)])
  })

  test('can be skipped with a reason, and confirmed', async () => {
    const anchor = await stored('anchor')
    const status = await stored('status')
    const skipped = await at.command('deliveries', 'skip', anchor.id, '--reason', 'not wanted')
    expect(skipped.stdout).toBe(`${anchor.id} (acme/widgets#5) is SKIPPED: not wanted.\n`)
    const confirm = ['deliveries', 'confirm', status.id, '--provider-message-id', '41', '--json']
    // Without credentials, GitHub cannot be asked whether it is ours.
    const refused = await at.command(...confirm)
    expect(refused).toMatchObject({ stdout: '' })
    expect(refused.code).not.toBe(0)
    expect(refused.stderr).toContain('--url')
    const asked: string[] = []
    at.world.checkIsOursBeside = async (_store, _settings, _options, ...what) => {
      asked.push(...what)
    }
    const confirmed = await at.command(...confirm)
    expect(asked).toEqual([status.id, '41'])
    expect(JSON.parse(confirmed.stdout)).toMatchObject({
      status: 'SENT',
      provider_message_id: '41',
    })
    const again = await at.command('deliveries', 'retry', status.id)
    expect(again).toMatchObject({ code: 1 })
    expect(again.stderr).toContain('cannot be sent again')
  })

  test('that were sent are said to be sent, also where GitHub cannot be asked', async () => {
    const { id } = await stored('anchor')
    await at.store.outbox.confirm(id, '77', 'test', null)
    const confirm = (of: string) =>
      at.command('deliveries', 'confirm', of, '--provider-message-id', '41')
    const sent = await confirm(id)
    expect(sent).toMatchObject({ code: 0, stdout: `${id} (acme/widgets#5) is SENT.\n` })
    expect((await confirm('del_nope')).stderr).toContain('There is no delivery del_nope')
    expect(await stored('anchor')).toMatchObject({ providerId: '77' })
  })

  test('are shown in their run once there is a comment', async () => {
    const { id } = await stored('anchor')
    await at.store.outbox.confirm(id, '77', 'test', null)
    const { stdout } = await at.command('runs', 'show', runId, '--json')
    expect(JSON.parse(stdout)).toMatchObject({
      anchor: { comment_id: 77, url: null },
      status_context: 'holdfast/review',
    })
  })

  test('have their own audit', async () => {
    const { id } = await stored('anchor')
    await at.command('deliveries', 'skip', id, '--reason', 'not wanted')
    const { stdout } = await at.command('audit', '--delivery', id)
    const rows = rowsOf(stdout).slice(1)
    expect(rows.map((row) => [row[2], row[6]])).toEqual([['operator.delivery_skipped', id]])
    expect((await at.command('why', id)).stdout).toContain('was skipped: “not wanted”')
  })
})

describe('budgets', () => {
  test('show what the settings allow, and who is blocked', async () => {
    expect((await at.command('budgets')).stderr).toContain('No budgets')
    const until = at.store.now() + 60_000
    await at.store.outbox.blockIdentity('installation:7', until, 'rate_limited', 'publisher')
    const { stdout } = await at.command('budgets', '--json')
    expect(JSON.parse(stdout)).toEqual({
      items: [
        {
          identity: 'installation:7',
          blocked_until: new Date(until).toISOString(),
          blocked_reason: 'rate_limited',
          last_write_at: null,
          minute: { used: 0, progress: 0, limit: 80 },
          hour: { used: 0, progress: 0, limit: 500 },
          spacing_ms: 1000,
        },
      ],
    })
    const [header, row] = rowsOf((await at.command('budgets')).stdout)
    expect(header?.slice(0, 3)).toEqual(['identity', 'blocked_until', 'blocked_reason'])
    expect(row?.[0]).toBe('installation:7')
  })

  test('can be unblocked, which is audited', async () => {
    const until = at.store.now() + 60_000
    await at.store.outbox.blockIdentity('installation:7', until, 'rate_limited', 'publisher')
    const { stdout } = await at.command('budgets', 'unblock', 'installation:7')
    expect(stdout).toBe('installation:7 is no longer blocked.\n')
    expect(await at.store.outbox.blockedUntil('installation:7')).toBeNull()
    const audit = await at.command('audit', '--type', 'operator.identity_unblocked', '--json')
    expect(audit.stdout).toContain('installation:7')
  })

  test.each(['github:user', 'github:app:7', 'github:app:Iv1.8a61f9b3a7', 'github:installation:7'])(
    'of the unknown identity %s cannot be unblocked',
    async (identity) => {
      const { code, stderr } = await at.command('budgets', 'unblock', identity)
      expect([code, stderr]).toEqual([1, expect.stringContaining(`no identity ${identity}`)])
    },
  )

  test('are unblocked only by an identity, with a server as without one', async () => {
    const server = ['--url', 'http://127.0.0.1:9', '--token', 'x']
    for (const flags of [[], server]) {
      const { code, stderr } = await at.command('budgets', 'unblock', 'nobody', ...flags)
      expect([code, stderr]).toEqual([2, expect.stringContaining('"nobody" is not an identity')])
    }
  })
})
