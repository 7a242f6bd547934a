// Goal: every fault does what its name says to state and answer, over both connections, and the
// product's client classifies the failure correctly.
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  bothConnections,
  createComment,
  number,
  repo,
  startSimulatorClient,
  thread,
  type SimulatorClient,
} from '../../../../test/simulator/simulator-client.ts'
import { troubleOfAnswer, troubleOfFailure, type Trouble } from '../../../github/errors.ts'
import type { Fault } from './fault.ts'

describe.each(bothConnections)('a request %s', (way) => {
  let client: SimulatorClient
  beforeEach(async () => {
    client = await startSimulatorClient({}, way)
  })
  afterEach(() => client.close())

  const comment = { body: { body: 'hello' } }
  const post = `POST ${thread}/comments`

  /** How the product's client classifies it; null for a normal answer. */
  async function troubleWith(signal?: AbortSignal): Promise<Trouble | null> {
    try {
      const response = await client.fetch(post, { ...comment, ...(signal && { signal }) })
      const body = await response.text().catch(() => null)
      const { status, headers } = response
      return troubleOfAnswer({ status, headers, body }, client.time.clock.wallMs())
    } catch (error) {
      return troubleOfFailure(error, signal?.aborted ?? false)
    }
  }

  function play(fault: Fault) {
    return client.github.faults.add({ on: { route: createComment }, fault })
  }

  /** The same fault, and a promise that resolves when it has begun. */
  function signalled(fault: Fault): { fault: Fault; begun: Promise<unknown> } {
    const begun = Promise.withResolvers<undefined>()
    const run: Fault['run'] = (exchange) => {
      begun.resolve(undefined)
      return fault.run(exchange)
    }
    return { fault: { ...fault, run }, begun: begun.promise }
  }

  const texts = () => client.github.comments(repo, number).map(({ body }) => body)
  const last = () => client.github.requests.at(-1)

  it('whose answer is lost was done', async () => {
    const handle = play(client.github.faults.lostAnswer())
    expect(await troubleWith()).toMatchObject({ kind: 'unanswered' })
    expect(texts()).toEqual(['hello'])
    expect(last()).toMatchObject({ status: 201, effect: true, fault: 'lost-answer' })
    expect(handle.hits).toBe(1)
    expect(await troubleWith()).toBeNull()
    expect(handle.hits).toBe(1)
  })

  it('answered 502 was done', async () => {
    play(client.github.faults.badGateway())
    expect(await troubleWith()).toMatchObject({ kind: 'unanswered', failure: null })
    expect(texts()).toEqual(['hello'])
  })

  it.each([500, 503] as const)('answered %i was not done', async (status) => {
    play(client.github.faults.serverError(status))
    expect(await troubleWith()).toMatchObject({ kind: 'unanswered', failure: null })
    expect(texts()).toEqual([])
    expect(last()).toMatchObject({ status, effect: false })
  })

  it('answered with half a JSON was done', async () => {
    play(client.github.faults.brokenJson())
    const response = await client.fetch(post, comment)
    expect(response.status).toBe(201)
    await expect(response.json()).rejects.toThrow(SyntaxError)
    expect(texts()).toEqual(['hello'])
  })

  it('whose connection is reset was not done, but nobody can know', async () => {
    play(client.github.faults.reset())
    expect(await troubleWith()).toMatchObject({ kind: 'unanswered' })
    expect(texts()).toEqual([])
    expect(last()).toMatchObject({ status: null, effect: false, fault: 'reset' })
  })

  it('whose connection is refused was never received', async () => {
    const handle = play(client.github.faults.refused())
    // A real socket is already open when its request is read, so it can only break.
    const kind = way === 'over HTTP' ? 'unanswered' : 'network'
    expect(await troubleWith()).toMatchObject({ kind })
    expect(handle.hits).toBe(1)
    expect(client.github.requests).toEqual([])
    expect(texts()).toEqual([])
  })

  it.each([true, false])('that hangs ends with its signal alone (done: %s)', async (committed) => {
    const { fault, begun } = signalled(client.github.faults.hang({ committed }))
    play(fault)
    const abort = new AbortController()
    const trouble = troubleWith(abort.signal)
    await begun
    abort.abort()
    expect(await trouble).toMatchObject({ kind: 'unanswered', failure: 'timeout' })
    expect(texts()).toEqual(committed ? ['hello'] : [])
  })

  it('with a slow body gets all of it in the end', async () => {
    play(client.github.faults.slowBody({ parts: 4, pauseMs: 3000 }))
    const response = await client.fetch(post, comment)
    const read = response.json()
    client.time.pass(3000 * 4 - 1)
    expect(client.time.waiting).toBe(1)
    client.time.pass(3001)
    expect(await read).toMatchObject({ body: 'hello' })
    expect(client.time.waiting).toBe(0)
  })

  it('with a slow body can be aborted', async () => {
    play(client.github.faults.slowBody())
    const abort = new AbortController()
    const response = await client.fetch(post, { ...comment, signal: abort.signal })
    const read = response.text()
    client.time.pass(2000)
    abort.abort()
    await expect(read).rejects.toThrow('abort')
    expect(texts()).toEqual(['hello'])
  })

  it('whose body is cut off was done', async () => {
    play(client.github.faults.slowBody({ parts: 2, pauseMs: 1, cut: true }))
    const response = await client.fetch(post, comment)
    const read = response.text()
    client.time.pass(10)
    await expect(read).rejects.toThrow('terminated')
    expect(texts()).toEqual(['hello'])
  })

  it('that is answered late was done at once', async () => {
    const { fault, begun } = signalled(client.github.faults.lateAnswer(5000))
    play(fault)
    const trouble = troubleWith()
    await begun
    expect(texts()).toEqual(['hello'])
    client.time.pass(5000)
    expect(await trouble).toBeNull()
  })

  it('that is held takes effect when released, although its sender has left', async () => {
    const { fault, begun } = signalled(client.github.faults.delayedCommit())
    const handle = play(fault)
    const abort = new AbortController()
    const trouble = troubleWith(abort.signal)
    await begun
    abort.abort()
    expect(await trouble).toMatchObject({ failure: 'timeout' })
    expect(await troubleWith()).toBeNull()
    expect(texts()).toEqual(['hello'])
    client.time.pass(60_000)
    handle.release()
    handle.release()
    expect(texts()).toEqual(['hello', 'hello'])
    const [delayed, second] = client.github.requests
    expect(delayed!.doneAt! - delayed!.at).toBe(60_000)
    expect(second!.doneAt).toBe(second!.at)
    const [early, late] = client.github.comments(repo, number)
    expect([early!.versions[0]!.request, late!.versions[0]!.request]).toEqual([1, 0])
  })

  it('that is held for a time is answered after it', async () => {
    const { fault, begun } = signalled(client.github.faults.delayedCommit({ afterMs: 4000 }))
    play(fault)
    const trouble = troubleWith()
    await begun
    expect(texts()).toEqual([])
    client.time.pass(4000)
    expect(await trouble).toBeNull()
    expect(texts()).toEqual(['hello'])
  })

  it('for a list does not show what is too new, while its id leads to it', async () => {
    const { faults } = client.github
    const lag = faults.add({ on: { method: 'get' }, fault: faults.listLag(3000) })
    const { data: made } = await client.request(post, comment)
    const listed = async () => ((await client.request(`GET ${thread}/comments`)).data as []).length
    const byId = `GET /repos/${repo}/issues/comments/${made.id}`
    expect(await listed()).toBe(0)
    expect((await client.request(byId)).status).toBe(200)
    client.time.pass(2999)
    expect(await listed()).toBe(0)
    client.time.pass(1)
    expect(await listed()).toBe(1)
    lag.remove()
    await client.request(post, comment)
    expect(await listed()).toBe(2)
  })

  it('that hits a secondary limit may get no retry-after, and no page', async () => {
    const { faults } = client.github
    play(faults.secondaryLimit({ retryAfterSeconds: 7 }))
    play(faults.secondaryLimit({ form: 'plain' }))
    play(faults.secondaryLimit({ form: 'bare' }))
    const answers = [await client.request(post, comment), await client.request(post, comment)]
    const bare = await client.request(post, comment)
    expect(answers.map(({ headers }) => headers.get('retry-after'))).toEqual(['7', null])
    for (const { data } of answers) expect(data.documentation_url).toContain('rate-limits')
    expect(bare.status).toBe(403)
    expect(bare.headers.get('retry-after')).toBeNull()
    expect(bare.data).not.toHaveProperty('documentation_url')
    expect(bare.data.message).toContain('secondary rate limit')
    expect(texts()).toEqual([])
  })

  it('answered 429 says when to try again', async () => {
    play(client.github.faults.tooMany({ retryAfterSeconds: 9 }))
    const now = client.time.clock.wallMs()
    expect(await troubleWith()).toMatchObject({ kind: 'rate_limited', until: now + 9000 })
  })

  it('above the quota is refused until the reset', async () => {
    play(client.github.faults.primaryExhausted({ forMs: 90_000 }))
    const reset = client.time.clock.wallMs() + 90_000
    expect(await troubleWith()).toMatchObject({ kind: 'rate_limited', until: reset })
    const { status, headers } = await client.request(`GET ${thread}`)
    expect(status).toBe(403)
    expect(headers.get('x-ratelimit-remaining')).toBe('0')
    expect(headers.get('x-ratelimit-reset')).toBe(String(reset / 1000))
    expect((await client.request('GET /rate_limit')).data.rate).toMatchObject({ remaining: 0 })
    client.time.pass(90_000)
    expect(await troubleWith()).toBeNull()
  })

  it('of a blocked identity is refused on every route; others are not', async () => {
    client.github.addToken('somebody', 'ghp_somebody')
    play(client.github.faults.blocked({ forMs: 72_000, form: 'plain' }))
    expect(await troubleWith()).toMatchObject({ kind: 'rate_limited' })
    expect((await client.request(`GET ${thread}`)).status).toBe(403)
    expect((await client.request(`GET ${thread}`, { token: 'ghp_somebody' })).status).toBe(200)
    client.time.pass(71_999)
    expect((await client.request(`GET ${thread}`)).status).toBe(403)
    client.time.pass(1)
    expect((await client.request(`GET ${thread}`)).status).toBe(200)
  })

  it('with an expired token is answered 401 from then on', async () => {
    const { faults } = client.github
    faults.add({ on: { nth: 2 }, fault: faults.tokenExpired() })
    expect(await troubleWith()).toBeNull()
    expect(await troubleWith()).toMatchObject({ kind: 'unauthorized' })
    expect(await troubleWith()).toMatchObject({ kind: 'unauthorized' })
    expect((await client.request(`GET ${thread}`, { token: 'ghp_fresh' })).status).toBe(200)
    expect(texts()).toEqual(['hello'])
  })

  it('can be refused with anything', async () => {
    play(client.github.faults.refuse(410, { message: 'Gone' }, { 'x-note': 'n' }))
    const { status, data, headers } = await client.request(post, comment)
    expect({ status, message: data.message, note: headers.get('x-note') }).toEqual({
      status: 410,
      message: 'Gone',
      note: 'n',
    })
    expect(texts()).toEqual([])
  })
})

describe('a script', () => {
  let client: SimulatorClient
  beforeEach(async () => {
    client = await startSimulatorClient()
  })

  const statusOf = async (call: string) => (await client.request(call)).status

  it('hits the nth matching request, as many times as it says', async () => {
    const { faults } = client.github
    const handle = faults.add({
      on: { route: 'GET /repos/{owner}/{repo}/issues/{any_name}', nth: 2, times: 2 },
      fault: faults.serverError(),
    })
    const statuses: number[] = []
    for (let i = 0; i < 5; i++) {
      await client.request(`GET /repos/${repo}`)
      statuses.push(await statusOf(`GET ${thread}`))
    }
    expect(statuses).toEqual([200, 500, 500, 200, 200])
    expect(handle.hits).toBe(2)
  })

  it('matches by pattern, by method and by identity', async () => {
    const { faults, github } = { faults: client.github.faults, github: client.github }
    github.addToken('somebody', 'ghp_somebody')
    faults.add({ on: { route: /^GET .*\/issues\/5$/, times: 9 }, fault: faults.refuse(410) })
    faults.add({ on: { method: 'PATCH' }, fault: faults.refuse(409) })
    faults.add({ on: { identity: 'somebody', times: 9 }, fault: faults.refuse(418) })
    expect(await statusOf(`GET ${thread}`)).toBe(410)
    expect(await statusOf(`GET ${thread}/comments`)).toBe(200)
    expect(await statusOf(`PATCH /repos/${repo}/issues/comments/1`)).toBe(409)
    expect((await client.request('GET /user', { token: 'ghp_somebody' })).status).toBe(418)
    expect(client.github.requests.at(-1)!.identity).toBe('somebody')
  })

  it('waits its turn behind one that was added before', async () => {
    const { faults } = client.github
    faults.add({ fault: faults.refuse(410) })
    const second = faults.add({ fault: faults.refuse(409) })
    expect(await statusOf('GET /user')).toBe(410)
    expect(await statusOf('GET /user')).toBe(409)
    expect(await statusOf('GET /user')).toBe(200)
    expect(second.hits).toBe(1)
  })

  it('that is removed or cleared hits nothing more', async () => {
    const { faults } = client.github
    const first = faults.add({ fault: faults.refuse(410) })
    faults.add({ fault: faults.refuse(409) })
    first.remove()
    faults.clear()
    expect(await statusOf('GET /user')).toBe(200)
  })

  it('can use a test’s own fault, which performs a request at most once', async () => {
    const twice: Fault = {
      name: 'twice',
      run: (exchange) => {
        exchange.perform()
        return { kind: 'answer', answer: exchange.perform() }
      },
    }
    client.github.faults.add({ fault: twice })
    const { status } = await client.request(`POST ${thread}/comments`, { body: { body: 'x' } })
    expect(status).toBe(201)
    expect(client.github.comments(repo, number)).toHaveLength(1)
    expect(client.github.requests[0]!.fault).toBe('twice')
  })

  it('for an unknown route is refused at once', () => {
    const { faults } = client.github
    const add = () => faults.add({ on: { route: 'GET /nowhere' }, fault: faults.reset() })
    expect(add).toThrow('Unknown route "GET /nowhere"')
    expect(() => client.github.count('GET /nowhere')).toThrow('Unknown route')
  })
})
