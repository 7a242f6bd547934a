/**
 * Goal: a server accepts the webhooks of the simulated GitHub as it accepts GitHub's own, in order
 * and out of order, and lost ones can be found and sent again.
 * Method: the simulator's hooks post to a whole server over a real socket. The test reads the
 * server's inbox and runs, and requests the deliveries API over real HTTP.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { makeAppJwt, readPrivateKey } from '../../src/github/credentials/app-jwt.ts'
import type { Random } from '../../src/random.ts'
import {
  createGitHubSimulator,
  sendWebhooks,
  serveSimulator,
  type GitHubSimulator,
  type WebhookSender,
} from '../../src/simulator/index.ts'
import { appKeyPem, ManualClock } from '../github/github-under-test.ts'
import { openWebhookServer, type WebhookServer } from '../intake/webhook-server.ts'
import { webhookSecret } from '../intake/webhook.ts'
import { startReceiver } from './receiver.ts'

const name = 'acme/widgets'
const sha = (letter: string) => letter.repeat(40)
const app = { id: 12, slug: 'holdfast', privateKey: appKeyPem }
const pull = { number: 1, headSha: sha('a'), baseSha: sha('b') }

let server: WebhookServer
let clock: ManualClock
let github: GitHubSimulator
let hook: WebhookSender

beforeEach(async () => {
  server = await openWebhookServer()
  clock = new ManualClock()
  // The server uses the machine's clock, and refuses events from the future.
  clock.wall = Date.now() - 60_000
  github = createGitHubSimulator({ app, clock, tokens: [{ token: 'ghp_bot', login: 'bot' }] })
  github.addRepository(name)
  hook = sendWebhooks(github, { url: server.url, secret: webhookSecret })
})
afterEach(() => server.close())

/** The inbox entry of each delivery, oldest first. */
async function inbox(): Promise<string[]> {
  await hook.idle()
  const entries = await server.processed()
  return entries.toReversed().map(({ event, action, decision, reason, outcomes }) => {
    const results = outcomes.map(({ result, reason: why }) => `${result} (${why})`)
    return [`${event} ${action ?? ''}: ${decision}`, reason, ...results].filter(Boolean).join(', ')
  })
}

async function runs(): Promise<string[]> {
  const { items } = await server.store.runs.list({}, { limit: 100, cursor: null })
  return items.map(({ headSha, state }) => `${headSha?.slice(0, 1) ?? ''} ${state}`).toSorted()
}

/** Times in payloads have whole seconds. */
function aSecondLater(happens: () => unknown): void {
  clock.pass(1000)
  happens()
}

describe('a server', () => {
  it('accepts all events of a pull request', async () => {
    const steps = [
      () => github.addPull(name, pull),
      () => github.push(name, 1, sha('c')),
      () => github.close(name, 1),
      () => github.reopen(name, 1),
      () => github.commentAs('octocat', name, 1, 'Thank you'),
    ]
    for (const step of steps) {
      aSecondLater(step)
      // One by one: events of the same second would need a decision about their order.
      await inbox()
    }
    expect(await inbox()).toEqual([
      'pull_request opened: accepted, claimed (new)',
      'push : ignored, no-trigger',
      'pull_request synchronize: accepted, claimed (superseded-prior)',
      'pull_request closed: accepted, cancelled (pull-request-closed)',
      'pull_request reopened: accepted, claimed (retry)',
      'issue_comment created: ignored, no-trigger',
    ])
    expect(await runs()).toEqual(['a superseded', 'c pending'])
    expect(server.complaints).toEqual([])
  })

  it('recognises a delivery that comes twice, and an event under two GUIDs', async () => {
    hook.addFault({ fault: 'duplicate', action: 'opened' })
    hook.addFault({ fault: 'duplicate-new-guid', action: 'synchronize' })
    github.addPull(name, pull)
    aSecondLater(() => github.push(name, 1, sha('c')))
    await hook.idle()
    const answers = github.hooks.log
      .all()
      .filter(({ event }) => event === 'pull_request')
      .map(({ responseBody }) => (JSON.parse(responseBody) as { decision: string }).decision)
    expect(answers).toEqual(['accepted', 'duplicate', 'accepted', 'duplicate'])
    expect(await runs()).toEqual(['a superseded', 'c pending'])
  })

  it('recognises an event that two hooks send, because both use its GUID', async () => {
    const own = sendWebhooks(github, { url: server.url, secret: webhookSecret, repo: name })
    github.addPull(name, pull)
    await Promise.all([hook.idle(), own.idle()])
    const [first, second] = github.hooks.log.all()
    expect(first?.guid).toBe(second?.guid)
    expect(first?.hookId).not.toBe(second?.hookId)
    expect(await inbox()).toEqual(['pull_request opened: accepted, claimed (new)'])
    expect(await runs()).toEqual(['a pending'])
  })

  it('is right also when deliveries arrive in reverse order', async () => {
    hook.addFault({ fault: 'hold', event: 'pull_request', times: 2 })
    github.addPull(name, pull)
    aSecondLater(() => github.push(name, 1, sha('c')))
    hook.release('newest first')
    expect(await inbox()).toEqual([
      'push : ignored, no-trigger',
      'pull_request synchronize: accepted, claimed (new)',
      'pull_request opened: accepted, claimed (stale-event)',
    ])
    expect(await runs()).toEqual(['a skipped', 'c pending'])
  })
})

describe('the deliveries API', () => {
  it('shows what was lost, with all that was sent, and sends it again', async () => {
    const served = await serveSimulator(github)
    const ask = async (method: string, path: string) => {
      const jwt = makeAppJwt('12', readPrivateKey(appKeyPem), clock.wallMs())
      const headers = { authorization: `Bearer ${jwt}` }
      return await fetch(served.url + path, { method, headers })
    }
    try {
      hook.addFault({ fault: 'drop', action: 'opened' })
      github.addPull(name, pull)
      aSecondLater(() => github.push(name, 1, sha('c')))
      await hook.idle()
      const pages: { id: number; status: string; action: string | null }[][] = []
      let next: string | undefined = '/app/hook/deliveries?per_page=2'
      while (next !== undefined) {
        const answer = await ask('GET', next)
        pages.push((await answer.json()) as (typeof pages)[number])
        next = /<[^>]*(\/app[^>]*)>; rel="next"/.exec(answer.headers.get('link') ?? '')?.[1]
      }
      expect(pages.map((page) => page.map(({ action }) => action))).toEqual([
        ['synchronize', null],
        ['opened'],
      ])
      const lost = pages.flat().find(({ status }) => status !== 'OK')
      const whole = await ask('GET', `/app/hook/deliveries/${lost?.id ?? 0}`)
      const { request } = (await whole.json()) as { request: { payload: { action: string } } }
      expect(request.payload).toMatchObject({ action: 'opened', pull_request: { number: 1 } })
      const again = await ask('POST', `/app/hook/deliveries/${lost?.id ?? 0}/attempts`)
      expect(again.status).toBe(202)
      expect(await inbox()).toEqual([
        'push : ignored, no-trigger',
        'pull_request synchronize: accepted, claimed (new)',
        'pull_request opened: accepted, claimed (stale-event)',
      ])
    } finally {
      await served.close()
    }
  })
})

describe('a hook', () => {
  it('of the App gets the events that the App asked for, where it is installed', async () => {
    github.addPull(name, pull)
    github.labelAs('octocat', name, 1, 'bug')
    github.rename(name, 'acme/gadgets')
    github.uninstallApp('acme')
    github.close('acme/gadgets', 1)
    expect(await inbox()).toEqual([
      'pull_request opened: accepted, claimed (new)',
      'pull_request labeled: ignored, no-trigger',
    ])
  })

  it('of a repository gets events of that repository, without an installation', async () => {
    const receiver = await startReceiver()
    github.addRepository('acme/other')
    const options = { url: receiver.url, secret: 'a secret', repo: name, hookId: 77 }
    const own = sendWebhooks(github, { ...options, events: ['pull_request'] })
    github.addPull('acme/other', pull)
    github.addPull(name, pull)
    github.commentAs('octocat', name, 1, 'Hello')
    await own.idle()
    own.close()
    github.close(name, 1)
    await own.idle()
    expect(receiver.received.map(({ summary }) => summary)).toEqual(['pull_request opened'])
    const [{ headers, body } = { headers: {}, body: '{}' }] = receiver.received
    expect(JSON.parse(body)).not.toHaveProperty('installation')
    expect(headers).toMatchObject({
      'x-github-hook-id': '77',
      'x-github-hook-installation-target-type': 'repository',
      'x-github-hook-installation-target-id': String(github.repository(name).id),
    })
    await receiver.close()
  })

  it('sends to a new address after moveTo', async () => {
    const receiver = await startReceiver()
    hook.moveTo(receiver.url)
    github.addPull(name, pull)
    await hook.idle()
    expect(receiver.received).toHaveLength(1)
    await receiver.close()
  })

  it('is refused as a second hook of the App, or without a repository and an App', () => {
    const options = { url: server.url, secret: webhookSecret }
    expect(() => sendWebhooks(github, options)).toThrow('An App has only one hook')
    expect(() => sendWebhooks(createGitHubSimulator(), options)).toThrow('Give "repo"')
    hook.close()
    expect(sendWebhooks(github, options).url).toBe(server.url)
  })

  it('sends the same GUIDs with the same random numbers', async () => {
    const guids = () => {
      const simulated = createGitHubSimulator({ app, clock, random: counting() })
      simulated.addRepository(name)
      const sent: string[] = []
      const keep: typeof fetch = async (_url, init) => {
        sent.push(new Headers(init?.headers).get('x-github-delivery') ?? '')
        return new Response()
      }
      const own = sendWebhooks(simulated, { url: server.url, secret: 'a secret', fetch: keep })
      simulated.addPull(name, pull)
      simulated.close(name, 1)
      return own.idle().then(() => sent)
    }
    const first = await guids()
    expect(new Set(first).size).toBe(2)
    expect(await guids()).toEqual(first)
  })
})

/** Random numbers that are the same every time. */
function counting(): Random {
  let drawn = 0
  return { bytes: (count) => Buffer.alloc(count, ++drawn), below: (below) => ++drawn % below }
}
