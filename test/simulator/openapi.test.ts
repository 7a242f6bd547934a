/**
 * Goal: every answer of the simulated GitHub has the form that GitHub describes.
 * Method: the test requests every route and every kind of refusal. The checker compares each answer
 * and each accepted body with GitHub's own API description. The test fails for a route that GitHub
 * does not describe, for a route that was never requested, and for a checker that accepts
 * everything.
 */
import { describe, expect, it } from 'vitest'
import { makeAppJwt, readPrivateKey } from '../../src/github/credentials/app-jwt.ts'
import { allRoutes } from '../../src/simulator/github/routes/all-routes.ts'
import { sendWebhooks } from '../../src/simulator/github/webhooks/send-webhooks.ts'
import { webhookRoutes } from '../../src/simulator/github/webhooks/webhook-routes.ts'
import { createGitHubSimulator, type GitHubEvent } from '../../src/simulator/index.ts'
import { appKeyPem, ManualClock } from '../github/github-under-test.ts'
import {
  checkAnswer,
  checkWebhook,
  describedOperations,
  describedWebhooks,
  watchAnswers,
  webhookNameOf,
} from './openapi.ts'

const sha = (letter: string) => letter.repeat(40)
const repo = '/repos/acme/widgets'

type Sender = 'token' | 'app' | 'installation' | 'stranger' | 'unknown token'

interface Answer {
  readonly status: number
  // The content of an answer is what the test checks.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly body: any
}

/** A GitHub with a pull request, an issue, an App and two hooks, whose answers are checked. */
function checkedGitHub() {
  const clock = new ManualClock()
  const github = createGitHubSimulator({
    clock,
    app: { id: 12, slug: 'holdfast', privateKey: appKeyPem },
    tokens: [{ token: 'ghp_bot', login: 'bot' }],
  })
  github.addRepository('acme/widgets', { labels: ['bug'] })
  github.setRole('acme/widgets', 'bot', 'admin')
  github.addPull('acme/widgets', { number: 1, headSha: sha('a'), baseSha: sha('b') })
  github.addPull('acme/widgets', {
    ...{ number: 5, headSha: sha('c'), baseSha: sha('b') },
    files: [
      { filename: 'src/a b.ts', patch: '@@ -1 +1,2 @@\n-one\n+One\n+two' },
      { filename: 'logo.png', status: 'renamed', previousFilename: 'old.png' },
    ],
  })
  github.addIssue('acme/widgets', { number: 2, labels: ['bug'], body: 'Broken' })
  const hook = { url: 'http://bot.test/hook', secret: 'a secret', fetch: taking }
  const appHook = sendWebhooks(github, hook)
  const repoHook = sendWebhooks(github, { ...hook, repo: 'acme/widgets', hookId: 77 })
  const watch = watchAnswers(github.fetch)
  let installationToken = ''

  async function ask(as: Sender, call: string, body?: unknown): Promise<Answer> {
    const [method = '', path = ''] = call.split(' ')
    const tokens: Record<Sender, string> = {
      token: 'ghp_bot',
      app: makeAppJwt('12', readPrivateKey(appKeyPem), clock.wallMs()),
      installation: installationToken,
      stranger: '',
      'unknown token': 'ghp_wrong',
    }
    const headers = as === 'stranger' ? {} : { authorization: `Bearer ${tokens[as]}` }
    const answer = await watch.fetch(`https://api.github.com${path}`, {
      method,
      headers,
      redirect: 'manual',
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    const text = await answer.text()
    return {
      status: answer.status,
      body: text.startsWith('<') || text === '' ? text : JSON.parse(text),
    }
  }

  async function takeInstallationToken(narrowed: object = {}): Promise<void> {
    const { body: installation } = await ask('app', `GET ${repo}/installation`)
    const path = `/app/installations/${installation.id}/access_tokens`
    installationToken = (await ask('app', `POST ${path}`, narrowed)).body.token
  }
  return { github, watch, ask, takeInstallationToken, appHook, repoHook }
}

const taking: typeof fetch = async () => new Response('{}', { status: 202 })

/** Requests everything once, in an order in which it succeeds. */
async function askEverything(world: ReturnType<typeof checkedGitHub>): Promise<void> {
  const { ask, takeInstallationToken } = world
  for (const path of ['/user', '/users/octocat', '/rate_limit', repo])
    await ask('token', `GET ${path}`)
  await ask('token', `GET ${repo}/collaborators/octocat/permission`)
  for (const path of ['/app', '/app/installations', '/app/hook/config'])
    await ask('app', `GET ${path}`)
  await takeInstallationToken()
  for (const as of ['token', 'installation'] as const) {
    for (const state of ['open', 'closed', 'all']) await ask(as, `GET ${repo}/pulls?state=${state}`)
    for (const path of ['pulls/1', 'pulls/1/files', 'pulls/5/files', 'issues/1', 'issues/2']) {
      await ask(as, `GET ${repo}/${path}`)
    }
    await askComments(world, as)
    await askStatuses(world, as)
    await askLabels(world, as)
    await askReviews(world, as)
  }
  await askChecks(world)
  await askHooks(world)
}

async function askComments({ ask }: ReturnType<typeof checkedGitHub>, as: Sender): Promise<void> {
  const { body: comment } = await ask(as, `POST ${repo}/issues/1/comments`, { body: 'Hello' })
  await ask(as, `POST ${repo}/issues/2/comments`, { body: 'Hello' })
  const query = `since=2026-01-01T00:00:00Z&per_page=1&page=1`
  await ask(as, `GET ${repo}/issues/1/comments?${query}`)
  await ask(as, `GET ${repo}/issues/comments/${comment.id}`)
  await ask(as, `PATCH ${repo}/issues/comments/${comment.id}`, { body: 'Hello again' })
  expect((await ask(as, `DELETE ${repo}/issues/comments/${comment.id}`)).status).toBe(204)
}

async function askStatuses({ ask }: ReturnType<typeof checkedGitHub>, as: Sender): Promise<void> {
  const full = { context: 'ci', description: 'Fine', target_url: 'https://bot.test/1' }
  for (const state of ['pending', 'error', 'failure', 'success']) {
    await ask(as, `POST ${repo}/statuses/${sha('a')}`, { state, ...full })
  }
  await ask(as, `POST ${repo}/statuses/${sha('a')}`, { state: 'pending' })
  await ask(as, `GET ${repo}/commits/${sha('a')}/statuses`)
  await ask(as, `GET ${repo}/commits/${sha('a')}/status`)
  await ask(as, `GET ${repo}/commits/${sha('a')}/pulls`)
}

async function askLabels({ ask }: ReturnType<typeof checkedGitHub>, as: Sender): Promise<void> {
  await ask(as, `POST ${repo}/issues/1/labels`, { labels: ['bug', 'good first issue'] })
  await ask(as, `GET ${repo}/issues/1/labels`)
  await ask(as, `DELETE ${repo}/issues/1/labels/good%20first%20issue`)
}

async function askReviews({ ask }: ReturnType<typeof checkedGitHub>, as: Sender): Promise<void> {
  const inline = { path: 'src/a.ts', body: 'Why?' }
  const { body: review } = await ask(as, `POST ${repo}/pulls/1/reviews`, {
    body: 'Looks fine',
    event: 'COMMENT',
    comments: [
      { ...inline, line: 7, side: 'RIGHT' },
      { ...inline, start_line: 3, start_side: 'RIGHT', line: 7, side: 'RIGHT' },
      { ...inline, position: 2 },
    ],
  })
  await ask(as, `POST ${repo}/pulls/1/reviews`, { event: 'APPROVE' })
  await ask(as, `GET ${repo}/pulls/1/reviews`)
  await ask(as, `GET ${repo}/pulls/1/reviews/${review.id}`)
  await ask(as, `PUT ${repo}/pulls/1/reviews/${review.id}`, { body: 'Looks better' })
  const { body: comments } = await ask(as, `GET ${repo}/pulls/1/reviews/${review.id}/comments`)
  expect(comments).toHaveLength(3)
}

async function askChecks({ ask }: ReturnType<typeof checkedGitHub>): Promise<void> {
  const { body: run } = await ask('installation', `POST ${repo}/check-runs`, {
    name: 'review',
    head_sha: sha('a'),
    external_id: 'run-1',
    details_url: 'https://bot.test/1',
    status: 'in_progress',
    output: { title: 'Working', summary: 'Soon' },
  })
  await ask('installation', `GET ${repo}/check-runs/${run.id}`)
  await ask('installation', `PATCH ${repo}/check-runs/${run.id}`, {
    conclusion: 'success',
    output: {
      title: 'Done',
      summary: 'Fine',
      annotations: [
        { path: 'a.ts', start_line: 1, end_line: 1, annotation_level: 'notice', message: 'Nice' },
      ],
    },
  })
  const { body: list } = await ask('token', `GET ${repo}/commits/${sha('a')}/check-runs?filter=all`)
  expect(list.check_runs).toHaveLength(1)
}

async function askHooks({
  ask,
  appHook,
  repoHook,
}: ReturnType<typeof checkedGitHub>): Promise<void> {
  const places = [
    ['app', '/app/hook', appHook],
    ['token', `${repo}/hooks/77`, repoHook],
  ] as const
  await ask('token', `GET ${repo}/hooks`)
  for (const [as, place, hook] of places) {
    hook.addFault({ fault: 'drop' })
    hook.send('push', { ref: 'refs/heads/main' })
    await hook.idle()
    const { body: page } = await ask(as, `GET ${place}/deliveries?per_page=2`)
    expect(page).toHaveLength(2)
    for (const { id } of page) await ask(as, `GET ${place}/deliveries/${id}`)
    const [{ id }] = page
    expect((await ask(as, `POST ${place}/deliveries/${id}/attempts`)).status).toBe(202)
    await hook.idle()
  }
  await ask('token', `GET ${repo}/hooks`)
}

describe('the simulated GitHub', () => {
  it('answers on every route in the form that GitHub describes', async () => {
    const world = checkedGitHub()
    await askEverything(world)
    expect(world.watch.problems).toEqual([])
    const failed = [...world.watch.seen].filter((line) => !/ 20\d$/.test(line))
    expect(failed).toEqual([])
    const answered = [...world.watch.seen].map((line) => line.replace(/ \d+$/, ''))
    expect(answered.toSorted()).toEqual(describedOperations.toSorted())
  })

  it('has no route that GitHub does not describe', () => {
    const { github } = checkedGitHub()
    // Renamed repositories are redirected to it; GitHub has it but does not describe it.
    const byNumber = 'GET /repositories/{id}'
    const routes = [...allRoutes, ...webhookRoutes(github.hooks)].map(({ route }) => route)
    const described = [...describedOperations, byNumber]
    expect(routes.toSorted()).toEqual(described.toSorted())
  })

  it('refuses in the form that GitHub describes', async () => {
    const { ask, github, watch, takeInstallationToken } = checkedGitHub()
    const comments = `${repo}/issues/1/comments`
    const refusal = async (status: number, ...asked: Parameters<typeof ask>) =>
      expect([asked[1], (await ask(...asked)).status]).toEqual([asked[1], status])
    await refusal(401, 'unknown token', 'GET /user')
    await refusal(401, 'stranger', `POST ${comments}`, { body: 'Hello' })
    await refusal(401, 'token', 'GET /app')
    await refusal(401, 'token', 'GET /app/hook/deliveries')
    await refusal(404, 'token', 'GET /repos/acme/none')
    await refusal(404, 'token', `GET ${repo}/issues/99`)
    await refusal(404, 'token', `GET ${repo}/pulls/2`)
    await refusal(404, 'token', `GET ${repo}/issues/comments/99`)
    await refusal(404, 'token', `GET ${repo}/hooks/99/deliveries`)
    await refusal(404, 'token', `DELETE ${repo}/issues/1/labels/none`)
    await refusal(404, 'app', 'GET /app/hook/deliveries/99')
    await refusal(404, 'app', 'POST /app/hook/deliveries/99/attempts')
    await refusal(404, 'app', 'POST /app/installations/99/access_tokens')
    const { body: installation } = await ask('app', `GET ${repo}/installation`)
    const tokens = `/app/installations/${installation.id}/access_tokens`
    await refusal(422, 'app', `POST ${tokens}`, { permissions: { contents: 'write' } })
    await refusal(422, 'app', `POST ${tokens}`, { repository_ids: [99] })
    await refusal(400, 'token', `POST ${comments}`, '{"body":')
    await refusal(422, 'token', `POST ${comments}`, {})
    await refusal(422, 'token', `POST ${comments}`, { body: 'x'.repeat(65_537) })
    await refusal(422, 'token', `POST ${repo}/statuses/${sha('a')}`, { state: 'odd' })
    const long = { state: 'success', description: 'x'.repeat(141) }
    await refusal(422, 'token', `POST ${repo}/statuses/${sha('a')}`, long)
    await refusal(422, 'token', `POST ${repo}/pulls/1/reviews`, { event: 'COMMENT' })
    await refusal(403, 'token', `POST ${repo}/check-runs`, { name: 'x', head_sha: sha('a') })
    await takeInstallationToken({ permissions: { issues: 'read' } })
    await refusal(403, 'installation', `POST ${comments}`, { body: 'Hello' })
    github.lock('acme/widgets', 1)
    await refusal(403, 'token', `POST ${comments}`, { body: 'Hello' })
    github.restrict('acme/widgets')
    await refusal(404, 'token', `GET ${repo}`)
    github.allow('acme/widgets')
    github.rename('acme/widgets', 'acme/gadgets')
    await refusal(301, 'token', `POST ${comments}`, { body: 'Hello' })
    await refusal(301, 'token', `GET ${repo}`)
    expect(watch.problems).toEqual([])
  })

  it('fails in the form that GitHub describes, with every fault', async () => {
    const { ask, github, watch } = checkedGitHub()
    const { faults } = github
    const failures = [
      [faults.badGateway(), 502],
      [faults.serverError(500), 500],
      [faults.serverError(503), 503],
      [faults.tooMany(), 429],
      [faults.secondaryLimit({ form: 'retry-after' }), 403],
      [faults.secondaryLimit({ form: 'plain' }), 403],
      [faults.secondaryLimit({ form: 'bare' }), 403],
      [faults.tokenExpired(), 401],
    ] as const
    for (const [fault, status] of failures) {
      if (fault.name === 'token-expired') github.addToken('bot', 'ghp_bot')
      faults.add({ fault })
      const answer = await ask('token', `POST ${repo}/issues/1/comments`, { body: 'Hello' })
      expect([fault.name, answer.status]).toEqual([fault.name, status])
    }
    github.addToken('bot', 'ghp_bot')
    for (const fault of [faults.primaryExhausted(), faults.blocked()]) {
      faults.add({ fault })
      expect((await ask('token', `GET ${repo}`)).status).toBe(403)
    }
    expect((await ask('token', 'GET /rate_limit')).body.resources.core.remaining).toBe(0)
    expect(watch.problems).toEqual([])
  })

  it('sends events in the form that GitHub describes', async () => {
    const { ask, github, takeInstallationToken } = checkedGitHub()
    const emitted: GitHubEvent[] = []
    github.observe((event) => void emitted.push(event))
    const name = 'acme/widgets'
    github.addPull(name, { number: 3, headSha: sha('c'), baseSha: sha('b'), draft: true })
    github.push(name, 3, sha('d'), { force: true })
    github.edit(name, 3, { title: 'Better', draft: false })
    github.close(name, 3, { merged: true })
    github.reopen(name, 3)
    github.commentAs('octocat', name, 3, 'Hello')
    github.labelAs('octocat', name, 2, 'good first issue')
    await ask('token', `POST ${repo}/statuses/${sha('d')}`, { state: 'success' })
    await takeInstallationToken()
    const { body: run } = await ask('installation', `POST ${repo}/check-runs`, {
      ...{ name: 'review', head_sha: sha('d'), conclusion: 'success' },
    })
    github.rerequestAs('octocat', Number(run.id))
    github.rename(name, 'acme/gadgets')
    const problems = emitted
      .filter(({ event, action }) => describedWebhooks.includes(webhookNameOf(event, action)))
      .flatMap(({ event, payload }) => checkWebhook(event, payload))
    expect(problems).toEqual([])
    const names = new Set(emitted.map(({ event, action }) => webhookNameOf(event, action)))
    expect(describedWebhooks.filter((described) => !names.has(described))).toEqual([])
  })
})

describe('the checker', () => {
  const json = 'application/json; charset=utf-8'
  const config = { content_type: 'json', insecure_ssl: '0', url: 'https://bot.test/hook' }
  const asked = { method: 'GET', url: 'https://api.github.com/app/hook/config' }
  const verdict = (body: unknown, { status = 200, contentType = json } = {}) =>
    checkAnswer(asked, { status, contentType, body: JSON.stringify(body) }).join()

  it('accepts a right answer', () => {
    expect(verdict(config)).toBe('')
  })

  it.each([
    ['a path that GitHub does not have', () => checkAnswer({ ...asked, url: '/no' }, right).join()],
    ['a status that is not described', () => verdict(config, { status: 201 })],
    ['a wrong type', () => verdict({ ...config, url: 7 })],
    ['a wrong format', () => verdict({ ...config, url: 'not an address' })],
    ['a field that GitHub does not have', () => verdict({ ...config, colour: 'red' })],
    ['another content type', () => verdict(config, { contentType: 'text/html' })],
    ['an error without its form', () => verdict({ message: 7 }, { status: 404 })],
    [
      'a parameter that GitHub does not take',
      () => checkAnswer({ ...asked, url: '/app/hook/config?page=2' }, right).join(),
    ],
    [
      'a body that GitHub does not take',
      () =>
        checkAnswer(
          { method: 'POST', url: `${repo}/issues/1/comments`, body: '{"text":"Hello"}' },
          { ...right, status: 201 },
        ).join(),
    ],
    ['a webhook that lacks something', () => checkWebhook('push', { ref: 'a' }).join()],
  ])('objects to %s', (_what, judge) => {
    expect(judge()).not.toBe('')
  })

  it('checks the answers of a fetch, but no body that a fault has cut', async () => {
    const bodies = [JSON.stringify({ ...config, colour: 'red' }), '{"url":', JSON.stringify(config)]
    const watch = watchAnswers(async () => {
      return new Response(bodies.shift(), { headers: { 'content-type': json } })
    })
    for (const left of [2, 1, 0]) {
      await watch.fetch(asked.url)
      expect([bodies.length, watch.problems.length]).toEqual([left, 1])
    }
    expect(watch.problems[0]).toContain('colour')
    expect([...watch.seen]).toEqual(['GET /app/hook/config 200'])
  })

  const right = { status: 200, contentType: json, body: JSON.stringify(config) }
})
