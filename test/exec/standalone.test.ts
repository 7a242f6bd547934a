/**
 * Goal: `exec` needs no server: its command reports and publishes as with one, and what belongs to
 * its run, and nothing else, is published.
 * Method: the real program directly on both databases, with a simulated GitHub over HTTP.
 */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { context, repo, ScenarioGitHub, token } from '../scenarios/scenario-github.ts'
import { sha } from '../scenarios/client.ts'
import { databases } from '../scenarios/server-data.ts'
import { adminToken, Server } from '../scenarios/server.ts'
import { webhookSecret } from '../intake/webhook.ts'
import { answerOf, ExecWorld, newJob, pullRequest, untilGo } from './exec-world.ts'

vi.setConfig({ testTimeout: 90_000, hookTimeout: 60_000 })

const quick = {
  ...{ HOLDFAST_COALESCE_MS: '0', HOLDFAST_WRITE_SPACING_MS: '0' },
  ...{ HOLDFAST_WRITES_PER_MINUTE: '0', HOLDFAST_WRITES_PER_HOUR: '0' },
}

interface DeliveryRow {
  readonly run_id: string
  readonly status: string
  readonly channel: string
}

const call = (method: string, path: string, body: string, bearer = '$HOLDFAST_RUN_TOKEN'): string =>
  `curl -s -o /dev/null -w '%{http_code} ' -X ${method} $HOLDFAST_URL${path} ` +
  `-H "authorization: Bearer ${bearer}" -H 'content-type: application/json' -d '${body}'`

describe.each(databases)('exec without a server on $name', ({ makeData }) => {
  let world: ExecWorld
  let github: ScenarioGitHub
  let live: Readonly<Record<string, string>>

  beforeEach(async () => {
    world = await ExecWorld.open(makeData)
    github = await ScenarioGitHub.open(world.data)
    for (const number of [5, 6]) github.pull(number, `head of ${number}`)
    live = { ...quick, GITHUB_TOKEN: token, GITHUB_API_URL: github.url }
  })
  afterEach(async () => {
    await github.goAway()
    await world.close()
  })

  const head = (pr: number, over: readonly string[] = []) => [
    ...pullRequest(`head of ${pr}`, pr),
    ...over,
  ]
  const deliveries = async (): Promise<readonly DeliveryRow[]> =>
    (await world.ask<{ items: readonly DeliveryRow[] }>('deliveries', 'list')).items
  const statuses = (pr: number) => github.github.statuses(repo, sha(`head of ${pr}`))
  const comments = (pr: number) => github.github.comments(repo, pr)

  it('publishes its status and its comment, with what the command reported', async () => {
    const report = call('POST', '/v1/runs/$HOLDFAST_RUN_ID/status', '{"status":"half way"}')
    const own = '{"channel":"github-comment","body":"A finding"}'
    const publish = call('PUT', '/v1/runs/$HOLDFAST_RUN_ID/deliveries/finding', own)
    const summary = 'echo "All is well" >$HOLDFAST_SUMMARY_FILE'
    const script = `(${report}; ${publish}) >$AT/new; mv $AT/new $AT/codes; ${untilGo}; ${summary}`
    const command = world.start(head(5), script, live)
    expect(await world.written('codes')).toBe('200 201')
    await vi.waitUntil(() => statuses(5).some(({ state }) => state === 'pending'))
    world.write('go', 'now')
    const { code, stderr } = await command.ended
    expect([code, stderr]).toEqual([0, expect.not.stringContaining('open')])
    expect(github.github.latestStatus(repo, sha('head of 5'), context)?.state).toBe('success')
    const bodies = comments(5).map(({ body }) => body)
    expect(bodies.some((body) => body.includes('All is well'))).toBe(true)
    expect(bodies.some((body) => body.includes('A finding'))).toBe(true)
    expect((await deliveries()).map(({ status }) => status)).toEqual(['SENT', 'SENT', 'SENT'])
  })

  it('hides the secrets of its job in what is stored, also in what the command sends', async () => {
    const at = '/v1/runs/$HOLDFAST_RUN_ID'
    const put = (path: string, body: string): string => call('PUT', `${at}${path}`, body)
    const own = '{"channel":"github-comment","body":"the password is hunter2"}'
    const tests = '{"start_id":"a1","error":{"code":"tests_failed","text":"login as hunter2"}}'
    const script = [
      put('/steps/tests', '{"state":"started","start_id":"a1"}'),
      put('/steps/tests', tests),
      put('/deliveries/finding', own),
      `curl -s $HOLDFAST_URL${at}/steps/tests -H "authorization: Bearer $HOLDFAST_RUN_TOKEN"`,
      'echo "output of hunter2"; exit 3',
    ]
    const command = `(${script.slice(0, -1).join('; ')}) >$AT/sent; ${script.at(-1)}`
    const { code } = await world.run(head(5), command, { ...live, DB_PASSWORD: 'hunter2' })
    expect(code).toBe(3)
    const sent = await world.written('sent')
    expect(sent).toMatch(/^20\d 20\d 20\d \{.*"login as \*\*\*"/)
    const bodies = comments(5).map(({ body }) => body)
    expect(bodies.some((body) => body.includes('the password is ***'))).toBe(true)
    const [run] = await world.runs()
    expect(JSON.stringify(run)).toContain('output of ***')
    expect([sent, ...bodies, JSON.stringify(run)].join()).not.toContain('hunter2')
  })

  it('opens its door only for run tokens of this store', async () => {
    const path = '/v1/runs/$HOLDFAST_RUN_ID'
    const tries = [
      call('GET', path, ''),
      call('GET', path, '', adminToken),
      call('GET', path, '', '$SCOPED'),
      call('GET', '/v1/runs', ''),
      call('POST', '/webhooks/github', '{}'),
      call('GET', '/metrics', ''),
    ].map((one) => one.replace(" -d ''", ''))
    const { token: scoped } = await world.ask<{ token: string }>(
      'token',
      'create',
      '--scope',
      'read',
    )
    const env = { ...quick, SCOPED: scoped, HOLDFAST_ADMIN_TOKEN: adminToken }
    const { code } = await world.run(newJob(), `(${tries.join('; ')}) >$AT/codes`, env)
    expect([code, await world.written('codes')]).toEqual([0, '200 401 401 403 401 403'])
  })

  it('leaves what belongs to others to a server, and names what it leaves', async () => {
    expect((await world.run(head(5), 'exit 0', live)).code).toBe(0)
    const unpublished = await world.run(head(6, ['--json']), 'exit 0', quick)
    expect([unpublished.code, comments(6)]).toEqual([0, []])
    const { run_id: waiting } = answerOf(unpublished)
    expect(unpublished.stderr).toContain(
      `2 deliveries are open (github-comment, github-status). No server is active on this ` +
        `database and no GitHub credentials are set. The next server publishes what is left: ` +
        `holdfast deliveries list --run ${waiting}`,
    )
    expect((await world.run(head(5, ['--rerun']), 'exit 1', live)).code).toBe(1)
    expect(comments(6)).toEqual([])
    const secrets = { GITHUB_WEBHOOK_SECRET: webhookSecret, HOLDFAST_CONFIRM_DELAY_MS: '200' }
    const server = await Server.start(world.data, { ...live, ...secrets })
    await vi.waitUntil(() => comments(6).length === 1, { timeout: 30_000 })
    await server.stop()
  })

  it('names what GitHub did not take, and the exit code is still that of the command', async () => {
    expect((await world.run(head(5), 'exit 0', live)).code).toBe(0)
    await github.goAway()
    const command = world.start(head(6), 'exit 7', live)
    await command.said(/Failed: review of/)
    command.child.kill('SIGTERM')
    const { code, stderr } = await command.ended
    expect(code).toBe(7)
    expect(stderr).toContain('GitHub could not be reached in time, or did not accept everything.')
  })

  it('writes its log for people, because it is among the lines of the job', async () => {
    const { faults } = github.github
    const route = 'POST /repos/{owner}/{repo}/issues/{issue_number}/comments'
    faults.add({ on: { route, times: 1000 }, fault: faults.refuse(422) })
    const { stderr } = await world.run(head(5), 'exit 0', live)
    expect(stderr).toMatch(/^\d\d:\d\d:\d\dZ WARN {2}A delivery failed: .* run_id=run_/m)
    expect(stderr).not.toMatch(/^\{/m)
  })

  it('says at once that GitHub refuses the credentials, and what to do', async () => {
    const { faults } = github.github
    faults.add({ on: { route: 'GET /user', times: 1000 }, fault: faults.refuse(403) })
    const { code, stderr } = await world.run(head(5), 'exit 0', live)
    expect([code, stderr]).toEqual([0, expect.stringContaining('Use a personal access token')])
    expect(stderr).toMatch(/2 deliveries are open .*holdfast budgets unblock \S+/)
    expect(stderr).not.toContain('in time')
  })

  it('leaves publishing to the server that is active on the database', async () => {
    const server = await Server.start(world.data, quick)
    const { code, stderr } = await world.run(head(5), 'exit 0', quick)
    expect([code, stderr]).toEqual([0, expect.not.stringContaining('open')])
    await vi.waitUntil(async () => (await deliveries()).every(({ status }) => status === 'SENT'), {
      timeout: 30_000,
      interval: 200,
    })
    expect((await deliveries()).length).toBe(2)
    await server.stop()
  })

  it('refuses to use the real GitHub for a sandbox, but works on a job without it', async () => {
    await (await Server.start(world.data, quick)).stop()
    const refused = await world.run(head(5), 'touch $AT/worked', live)
    expect([refused.code, world.has('worked')]).toEqual([1, false])
    expect(refused.stderr).toContain('This database is a sandbox, but GitHub credentials are set')
    expect(refused.stderr).toContain('Unset GITHUB_TOKEN')
    expect((await world.run(newJob(), 'exit 0', live)).code).toBe(0)
  })

  it('announces nothing without credentials on a database that no server ever used', async () => {
    const { code, stderr } = await world.run(head(5), 'exit 0', quick)
    expect([code, stderr]).toEqual([0, expect.not.stringContaining('open')])
    expect(await deliveries()).toEqual([])
    // So it can still become a live one.
    expect((await world.run(head(6), 'exit 0', live)).code).toBe(0)
    expect(comments(6)).toHaveLength(1)
  })
})
