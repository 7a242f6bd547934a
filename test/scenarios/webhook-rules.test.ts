/**
 * Goal: the configuration decides who may start a type, and a failing rule affects no other type.
 * Holdfast asks GitHub for roles after the answer, and not again for every event.
 * Method: a real server with a configuration file, beside a GitHub that a test scripts.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startFakeApi, type FakeApi } from '../github/fake-api.ts'
import { bot, newThread, person } from '../intake/payloads.ts'
import { Hooks, hookEnv } from './hooks.ts'
import { databases, type ServerData } from './server-data.ts'
import { Server } from './server.ts'
import { until } from './until.ts'

type Thread = ReturnType<typeof newThread>

const config = `export default {
  runs: {
    careful: { on: { pull_request: ['opened'] }, by: 'write' },
    works: { on: { pull_request: ['labeled'] } },
    breaks: {
      on: { pull_request: ['labeled'] },
      when: (event) => event.payload.label.nothing.name === 'x',
    },
  },
}
`

describe.each(databases)('rules on $name', ({ makeData }) => {
  let serverData: ServerData
  let server: Server
  let hooks: Hooks
  let github: FakeApi
  beforeAll(async () => {
    serverData = await makeData()
    writeFileSync(join(serverData.folder, 'holdfast.config.ts'), config)
    github = await startFakeApi()
    github.on('GET /user', { body: { login: 'Our-Bot', id: 77 } })
    server = await Server.start(serverData, {
      ...hookEnv,
      GITHUB_TOKEN: 'a-token-of-the-test',
      GITHUB_API_URL: github.url,
    })
    hooks = new Hooks(server)
  }, 60_000)
  afterAll(async () => {
    await server.kill()
    await Promise.all([serverData.remove(), github.close()])
  })
  const roleCall = ({ repository }: Thread, login: string) =>
    `GET /repositories/${repository.id}/collaborators/${login}/permission`
  const callsOf = (call: string) => github.calls().filter((each) => each === call).length

  it.each([
    ['not a member', 'stranger', { body: { permission: 'none' } }, 'sender-not-member'],
    [
      'unknown to GitHub',
      'nobody',
      { status: 404, body: { message: 'Not Found' } },
      'sender-unknown',
    ],
    ['of the role read', 'reader', { body: { permission: 'read' } }, 'sender-role'],
    [
      'of the role triage',
      'helper',
      { body: { permission: 'read', role_name: 'triage' } },
      'sender-role',
    ],
  ])(
    'a sender %s is recognized after the 202 and starts nothing',
    async (_name, login, reply, why) => {
      const thread = newThread()
      github.on(roleCall(thread, login), reply)
      const sent = await hooks.send(thread.on('opened', 'a', 1, { sender: person(login) }))
      expect(sent).toMatchObject({ status: 202, body: { decision: 'accepted' } })
      const entry = await hooks.decided(sent.body.inbox_id)
      expect(entry).toMatchObject({ state: 'processed', decision: 'ignored', reason: why })
      expect(entry.outcomes[0]?.detail).toContain(login)
      expect(await hooks.runs(thread.repo)).toEqual([])
    },
  )

  it('for a bot and a deleted account GitHub is not asked', async () => {
    const thread = newThread()
    const before = github.calls().length
    const asBot = await hooks.settle(
      thread.on('opened', 'a', 1, { sender: bot('dependabot[bot]') }),
    )
    expect(asBot).toMatchObject({ decision: 'ignored', reason: 'sender-is-bot' })
    const gone = await hooks.settle(thread.on('opened', 'b', 2, { sender: { login: 'ghost' } }))
    expect(gone).toMatchObject({ decision: 'ignored', reason: 'sender-unknown' })
    expect(github.calls().length).toBe(before)
    expect(await hooks.runs(thread.repo)).toEqual([])
  })

  it('a sender with the role write starts it, with one question for many events', async () => {
    const thread = newThread()
    const call = roleCall(thread, 'mona')
    github.on(call, { body: { permission: 'write', role_name: 'write' } })
    const all = Array.from({ length: 10 }, (_, n) => thread.on('opened', `head ${n}`, n + 1))
    for (const webhook of all) {
      expect((await hooks.settle(webhook)).outcomes).toMatchObject([{ result: 'claimed' }])
    }
    expect(await hooks.runs(thread.repo)).toHaveLength(10)
    expect(callsOf(call)).toBe(1)
  })

  it('our own account starts nothing, in any spelling of its name', async () => {
    const thread = newThread()
    for (const sender of [person('our-bot', 77), person('OUR-BOT', 77), { login: 'Our-bot' }]) {
      const sent = await hooks.send(thread.on('opened', 'a', 1, { sender }))
      expect(sent.body).toMatchObject({ decision: expect.any(String) as string })
      const entry = await hooks.decided(sent.body.inbox_id)
      expect(entry.reason).toBe(sent.body.decision === 'duplicate' ? 'same-event' : 'own-account')
    }
    expect(await hooks.runs(thread.repo)).toEqual([])
  })

  it('an event waits while GitHub cannot be asked, and is decided when it is back', async () => {
    const thread = newThread()
    const call = roleCall(thread, 'mona')
    github.on(call, { status: 502, body: 'bad gateway' })
    const { status, body } = await hooks.send(thread.on('opened', 'a', 1))
    expect(status).toBe(202)
    await until(
      () => hooks.entry(body.inbox_id),
      ({ state, tries }) => state === 'waiting' && tries > 0,
    )
    expect(await hooks.runs(thread.repo)).toEqual([])
    github.on(call, { body: { permission: 'admin' } })
    const entry = await hooks.decided(body.inbox_id)
    expect(entry).toMatchObject({ decision: 'accepted', outcomes: [{ result: 'claimed' }] })
    expect(await hooks.runs(thread.repo)).toMatchObject([{ state: 'pending' }])
  })

  it('a rule that throws fails for its own type, and the other starts', async () => {
    const thread = newThread()
    const label = { more: { label: { name: 'x' } } }
    const entry = await hooks.settle(thread.on('labeled', 'a', 1, label))
    expect(entry).toMatchObject({ state: 'failed', decision: 'accepted', reason: 'when-failed' })
    expect(entry.outcomes).toMatchObject([
      { type: 'works', result: 'claimed', reason: 'new' },
      { type: 'breaks', result: 'failed', reason: 'when-failed' },
    ])
    expect(await hooks.runs(thread.repo)).toMatchObject([{ type: 'works', state: 'pending' }])
    expect(await hooks.inbox(`state=failed&repo=${thread.repo}`)).toHaveLength(1)
  })
})
