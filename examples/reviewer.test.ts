/**
 * Goal: the example reviewer publishes one review of a change, and pays for each answer of its
 * model once, also if its server is killed in the middle.
 * Method: the example's own files on a real server, the simulated GitHub, and the example's model
 * behind a relay that can keep an answer back.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, readFileSync } from 'node:fs'
import {
  createServer,
  type IncomingMessage,
  type Server as HttpServer,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { freePort } from '../test/free-port.ts'
import { sha } from '../test/scenarios/client.ts'
import { repo, ScenarioGitHub } from '../test/scenarios/scenario-github.ts'
import { databases } from '../test/scenarios/server-data.ts'
import { Server } from '../test/scenarios/server.ts'
import { until } from '../test/scenarios/until.ts'

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

const example = join(import.meta.dirname, 'reviewer')

/** The example's model, and what it printed. */
async function startModel() {
  const { PATH = '' } = process.env
  const child = spawn(process.execPath, ['model.mts'], {
    cwd: example,
    env: { PATH, PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const said: string[] = []
  const url = Promise.withResolvers<string>()
  createInterface(child.stdout).on('line', (line) => {
    const found = /listening on (\S+)$/.exec(line)?.[1]
    if (found === undefined) said.push(line)
    else url.resolve(found)
  })
  return { child, said, url: await url.promise }
}

/** Passes questions on to the model, and the answers back, except the one that it holds. */
class Relay {
  readonly keys: string[] = []
  /** Resolves when the answer is here that is not passed on. */
  readonly holding = Promise.withResolvers<undefined>()
  hold: string | null = null
  readonly #server: HttpServer

  constructor(model: string) {
    this.#server = createServer((request, response) => void this.#pass(model, request, response))
  }

  async #pass(model: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { url = '', headers } = request
    const key = String(headers['idempotency-key'])
    this.keys.push(`${url} ${key}`)
    const question = await text(request)
    const asked = { method: 'POST', headers: { 'idempotency-key': key }, body: question }
    const answer = await (await fetch(model + url, asked)).text()
    if (url === this.hold) this.holding.resolve(undefined)
    else response.end(answer)
  }

  async listen(): Promise<string> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  close(): void {
    this.#server.closeAllConnections()
    this.#server.close()
  }
}

let github: ScenarioGitHub
let model: { readonly child: ChildProcess; readonly said: string[]; readonly url: string }
let relay: Relay
let env: Readonly<Record<string, string>>

beforeEach(async () => {
  const data = await databases[0]!.makeData()
  copyFileSync(join(example, 'holdfast.config.mts'), join(data.folder, 'holdfast.config.mts'))
  model = await startModel()
  relay = new Relay(model.url)
  env = { MODEL_URL: await relay.listen() }
  github = await ScenarioGitHub.open(data)
  await github.start(env)
})
afterEach(async () => {
  await github.close()
  relay.close()
  model.child.kill('SIGTERM')
  if (model.child.exitCode === null) await once(model.child, 'exit')
})

const patch = ['@@ -10,3 +10,4 @@ start', ' one', '-two', '+var two', '+debugger', ' three']

function open(number: number, lines: readonly string[]): void {
  github.github.addPull(repo, {
    ...{ number, headSha: sha(`head of ${number}`), baseSha: sha('main') },
    files: [{ filename: 'src/start.ts', patch: lines.join('\n') }, { filename: 'logo.png' }],
  })
}

const statusOf = (number: number) =>
  until(
    async () => github.github.latestStatus(repo, sha(`head of ${number}`), 'acme/review'),
    (status) => status !== null && status.state !== 'pending',
  )

it('publishes one review with comments on lines, and its verdict', async () => {
  open(5, patch)
  expect(await statusOf(5)).toMatchObject({ state: 'failure' })
  await github.published()
  expect(github.github.reviews(repo, 5)).toMatchObject([
    {
      state: 'COMMENTED',
      commitId: sha('head of 5'),
      body: expect.stringContaining('Remarks: 2, of which must be fixed: 1.'),
      comments: [
        { path: 'src/start.ts', line: 11, body: expect.stringContaining('let or const') },
        { path: 'src/start.ts', line: 12, body: expect.stringContaining('debugger') },
      ],
    },
  ])
  await github.anchorSays(5, 'Remarks: 2')
})

it('says nothing on lines about a change without remarks', async () => {
  open(6, ['@@ -1 +1 @@', '-debugger', '+fine'])
  expect(await statusOf(6)).toMatchObject({ state: 'success' })
  await github.published()
  expect(github.github.reviews(repo, 6)).toEqual([])
  await github.anchorSays(6, 'Nothing to object to.')
})

it('killed while it waits for the second answer, it pays for each answer once', async () => {
  relay.hold = '/summary'
  open(7, patch)
  // A question leaves only after the result of the step before it is stored.
  await relay.holding.promise
  await github.server.kill()
  relay.hold = null
  await github.start(env)
  expect(await statusOf(7)).toMatchObject({ state: 'failure' })
  await github.published()
  expect(model.said).toEqual(['findings: answered', 'summary: answered', 'summary: repeated'])
  const [findings, summary] = relay.keys
  expect(relay.keys).toEqual([findings, summary, summary])
  expect(github.github.reviews(repo, 7)).toHaveLength(1)
  expect(await github.runs(7)).toMatchObject([{ state: 'succeeded', attempt: 2, round: 1 }])
  await github.anchorSays(7, 'Remarks: 2')
})

it('shows what the guide promises, with the GitHub that stands in', async () => {
  const guide = readFileSync(join(example, '../../docs/guides/executing.md'), 'utf8')
  const exported = [...guide.matchAll(/\b(GITHUB_(?:TOKEN|WEBHOOK_SECRET))=(\S+)/g)]
  const settings = Object.fromEntries(exported.map(([, name = '', value = '']) => [name, value]))
  expect(Object.keys(settings)).toEqual(['GITHUB_TOKEN', 'GITHUB_WEBHOOK_SECRET'])
  const data = await databases[0]!.makeData()
  copyFileSync(join(example, 'holdfast.config.mts'), join(data.folder, 'holdfast.config.mts'))
  const [port, serverPort] = [await freePort(), await freePort()]
  const serverUrl = `http://127.0.0.1:${serverPort}`
  const { PATH = '' } = process.env
  const child = spawn(process.execPath, ['github.mts'], {
    cwd: example,
    env: { PATH, PORT: String(port), HOLDFAST_URL: serverUrl },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let server: Server | null = null
  try {
    const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
    const nextLine = async () => (await lines.next()).value as string
    expect(await nextLine()).toBe(
      `github listening on http://127.0.0.1:${port}, for the server at ${serverUrl}`,
    )
    server = await Server.start(
      data,
      { ...settings, GITHUB_API_URL: `http://127.0.0.1:${port}`, MODEL_URL: model.url },
      String(serverPort),
    )
    expect(await nextLine()).toMatch(/^opened #\d+$/)
    expect(await nextLine()).toMatch(/^status of #\d+: failure \(Not passed\)$/)
    expect(await nextLine()).toMatch(/^review of #\d+: Remarks: 2, of which must be fixed: 1\.$/)
    expect([await nextLine(), await nextLine()]).toEqual([
      expect.stringContaining('src/start.ts:11'),
      expect.stringContaining('src/start.ts:12'),
    ])
  } finally {
    await server?.stop()
    child.kill('SIGTERM')
    await data.remove()
  }
})
