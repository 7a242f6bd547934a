/**
 * Goal: a server executes runs by functions and commands, stops them, and leaves nothing behind.
 * Method: a real server with a config file, used over HTTP, and killed with SIGKILL.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Answer } from './client.ts'
import { databases, type ServerData } from './server-data.ts'
import { Server } from './server.ts'
import { until } from './until.ts'

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

const config = `
import { appendFileSync } from 'node:fs'
import { defineConfig } from 'holdfast'

const calls = (name) => appendFileSync('calls.txt', name + '\\n')
const shown = { status: false, anchor: false }

export default defineConfig({
  runs: {
    pull: {
      ...shown,
      run: async (run) => {
        const place = { owner: 'acme', repo: 'widgets', pull_number: run.pr }
        const { data } = await run.github.rest.pulls.get(place)
        return { result: { number: data.number } }
      },
    },
    steps: {
      ...shown,
      run: async (run) => {
        await run.step('first', () => calls('first'))
        if (run.attempt === 1) await new Promise(() => {})
        await run.step('second', () => calls('second'))
      },
    },
    busy: { ...shown, concurrency: 1, run: () => new Promise(() => {}) },
    script: { ...shown, run: { command: ['sh', 'script.sh'], env: ['SOME_SECRET'] } },
    sending: { run: { command: ['sh', 'sending.sh'], env: ['SOME_SECRET'] } },
    failing: { ...shown, run: { command: ['sh', 'failing.sh'], env: ['SOME_SECRET'] } },
    long: { ...shown, run: { command: ['sh', 'long.sh'] } },
    quick: { ...shown, run: { command: ['sh', 'long.sh'] }, timeoutMs: 1000 },
  },
})
`

const script = `
echo "$SOME_SECRET" > secret.txt
test -z "$HOLDFAST_ADMIN_TOKEN" || exit 9
curl -sS --fail "$HOLDFAST_URL/v1/runs/$HOLDFAST_RUN_ID/status" \\
  -H "authorization: Bearer $HOLDFAST_RUN_TOKEN" -H 'content-type: application/json' \\
  -d '{"status":"half way"}' || exit 8
echo '# Done' > "$HOLDFAST_SUMMARY_FILE"
echo '{"pages": 3}' > "$HOLDFAST_RESULT_FILE"
`

/** Sends its secret in everything that it sends with its run token. */
const sending = `
send() {
  curl -sS --fail -X "$1" "$HOLDFAST_URL/v1/runs/$HOLDFAST_RUN_ID/$2" -d "$3" \\
    -H "authorization: Bearer $HOLDFAST_RUN_TOKEN" -H 'content-type: application/json' || exit 8
}
send POST status "{\\"status\\":\\"status $SOME_SECRET\\"}"
body="note $SOME_SECRET"
send PUT deliveries/note "{\\"channel\\":\\"github-comment\\",\\"body\\":\\"$body\\"}"
for step in kept lost; do
  send PUT steps/$step '{"state":"started","start_id":"s"}'
done
send PUT steps/kept "{\\"start_id\\":\\"s\\",\\"result\\":\\"$SOME_SECRET\\"}"
send PUT steps/lost "{\\"start_id\\":\\"s\\",\\"error\\":\\"error $SOME_SECRET\\"}"
text="text $SOME_SECRET"
send POST complete "{\\"outcome\\":\\"failed\\",\\"summary\\":\\"$text\\",
  \\"description\\":\\"$text\\",\\"result\\":[\\"$text\\"],\\"error\\":\\"$text\\"}"
`

/** Ignores SIGTERM, and has a child of its own. */
const long = `
trap '' TERM
sh -c 'trap "" TERM; echo $$ > child.txt; while :; do sleep 1; done' &
echo $$ > parent.txt
while :; do sleep 1; done
`

let data: ServerData
let server: Server

beforeEach(async () => {
  data = await databases[0]!.makeData()
  writeFileSync(join(data.folder, 'holdfast.config.ts'), config)
  writeFileSync(join(data.folder, 'script.sh'), script)
  writeFileSync(join(data.folder, 'failing.sh'), 'echo "token $SOME_SECRET"; exit 3')
  writeFileSync(join(data.folder, 'sending.sh'), sending)
  writeFileSync(join(data.folder, 'long.sh'), long)
  server = await start()
})
afterEach(async () => {
  await server.kill()
  await data.remove()
})

const start = (): Promise<Server> => Server.start(data, { SOME_SECRET: 'a-value-to-hide' })

async function claim(type: string, more: object = { key: type }): Promise<string> {
  const answer = await server.admin.call('POST', '/v1/runs', { type, lease: false, ...more })
  return answer.body.run.id
}

const reaches = (id: string, ...states: readonly string[]): Promise<Answer> =>
  until(
    () => server.admin.get(`/v1/runs/${id}`),
    ({ body }) => states.includes(body.state),
  )

const read = (name: string): string => readFileSync(join(data.folder, name), 'utf8').trim()

async function pidsOfLong(): Promise<readonly number[]> {
  const names = ['parent.txt', 'child.txt']
  await until(
    async () => names.every((name) => existsSync(join(data.folder, name)) && read(name) !== ''),
    (areThere) => areThere,
  )
  return names.map((name) => Number(read(name)))
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    // A process that has ended and was not waited for yet is not alive.
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}

const areGone = (pids: readonly number[]): Promise<unknown> =>
  until(
    async () => pids.filter(isAlive),
    (alive) => alive.length === 0,
  )

describe('a function', () => {
  it('asks GitHub with the client of its run', async () => {
    const shas = { base_sha: 'a'.repeat(40), head_sha: 'b'.repeat(40) }
    const id = await claim('pull', { repo: 'acme/widgets', pr: 7, ...shas })
    const { body } = await reaches(id, 'succeeded', 'failed')
    expect(body.result).toEqual({ number: 7 })
  })

  it('is taken up again after a crash, without what it had done (scenario 63)', async () => {
    const id = await claim('steps')
    await until(
      () => server.admin.get(`/v1/runs/${id}/steps/first`),
      ({ body }) => body.state === 'done',
    )
    await server.kill()
    server = await start()
    const { body } = await reaches(id, 'succeeded', 'failed')
    expect([body.state, body.attempt]).toEqual(['succeeded', 2])
    expect(read('calls.txt').split('\n')).toEqual(['first', 'second'])
  })
})

describe('a worker that leases over HTTP and names no types', () => {
  const lease = (more: object = {}): Promise<Answer> =>
    server.admin.post('/v1/runs/lease', { worker: 'w', ...more })

  it('gets no run of a type that has a function, so that its work is not skipped', async () => {
    await reaches(await claim('busy', { key: 'in work' }), 'running')
    const waits = await claim('busy', { key: 'waits' })
    expect((await lease()).status).toBe(204)
    const woken = lease({ wait_ms: 20_000 })
    const remote = await claim('remote')
    expect((await woken).body.run.id).toBe(remote)
    expect((await lease({ wait_ms: 1000 })).status).toBe(204)
    expect((await lease({ types: ['busy'] })).body.run.id).toBe(waits)
  })
})

describe('a command', () => {
  it('sees its run and the listed variables, and leaves summary and result', async () => {
    const { body } = await reaches(await claim('script'), 'succeeded', 'failed')
    expect([body.state, body.summary, body.result]).toEqual(['succeeded', '# Done\n', { pages: 3 }])
    expect(read('secret.txt')).toBe('a-value-to-hide')
  })

  it('that fails leaves its exit code and last lines, without secrets', async () => {
    const id = await claim('failing')
    const { body, text } = await reaches(id, 'failed')
    const { error } = body as unknown as { error: { code: string; text: string } }
    expect(error).toEqual({ code: 'command_failed', text: 'exit code 3\ntoken ***' })
    const audit = await server.admin.get(`/v1/runs/${id}/audit`)
    expect(audit.text).toContain('run.command_ended')
    const why = await server.admin.get(`/v1/runs/${id}/why`)
    expect(why.text).toMatch(/The command of [^"]+ ended with exit code 3\./)
    expect(why.text).not.toContain('after the run had ended')
    expect(text + audit.text).not.toContain('a-value-to-hide')
  })

  it('shows no secret in what it sends, and a step returns what it was given', async () => {
    const shas = { base_sha: 'a'.repeat(40), head_sha: 'b'.repeat(40) }
    const id = await claim('sending', { repo: 'acme/widgets', pr: 7, ...shas })
    const run = await reaches(id, 'failed')
    expect(run.body).toMatchObject({ summary: 'text ***', result: ['text ***'] })
    expect(run.body.error).toEqual({ code: 'failed', text: 'text ***' })
    const parts = ['audit', 'steps', 'steps/lost', 'why']
    const shown = await Promise.all(parts.map((part) => server.admin.get(`/v1/runs/${id}/${part}`)))
    const { body: list } = await server.admin.get(`/v1/deliveries?run=${id}`)
    const deliveries = list.items as unknown as readonly { readonly id: string }[]
    for (const one of deliveries) shown.push(await server.admin.get(`/v1/deliveries/${one.id}`))
    const texts = [run, ...shown].map(({ text }) => text).join('\n')
    for (const text of ['status ***', 'note ***', 'error ***']) expect(texts).toContain(text)
    expect(texts).not.toContain('a-value-to-hide')
    const kept = await server.admin.get(`/v1/runs/${id}/steps/kept`)
    expect(kept.body).toMatchObject({ result: 'a-value-to-hide' })
  })

  it('is stopped by a cancel, with all its children (scenarios 61 and 64)', async () => {
    const id = await claim('long')
    const pids = await pidsOfLong()
    const cancelled = await server.admin.call('POST', `/v1/runs/${id}/cancel`, {})
    expect(cancelled.body.state).toBe('cancelled')
    await areGone(pids)
    expect((await server.admin.call('POST', `/v1/runs/${id}/cancel`, {})).status).toBe(409)
    expect((await server.admin.get(`/v1/runs/${id}`)).body.state).toBe('cancelled')
  })

  it('is stopped by its timeout', async () => {
    const id = await claim('quick')
    const pids = await pidsOfLong()
    const { body } = await reaches(id, 'failed')
    expect(body.error?.code).toBe('timeout')
    await areGone(pids)
  })

  it('does not outlive a server that is killed', async () => {
    await claim('long')
    const pids = await pidsOfLong()
    await server.kill()
    await areGone(pids)
  })
})
