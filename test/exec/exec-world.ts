/**
 * `holdfast exec` as a user starts it: the real program in its own process, through a real server
 * or directly on a real database. Scripts leave files in a folder, and tests wait for those.
 */
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { adminToken, Command, Server, type Ended } from '../scenarios/server.ts'
import { sha, type RunJson } from '../scenarios/client.ts'
import type { MakeServerData, ServerData } from '../scenarios/server-data.ts'
import { until } from '../scenarios/until.ts'

export interface ExecAnswer {
  readonly outcome: string | null
  readonly reason: string
  readonly run_id: string | null
  readonly run_key: string | null
  readonly exit_code: number
}

type Env = Readonly<Record<string, string>>

export class ExecWorld {
  readonly data: ServerData
  readonly #started: Command[] = []
  #server: Server | null = null
  #token = ''

  private constructor(data: ServerData) {
    this.data = data
  }

  static async open(makeData: MakeServerData): Promise<ExecWorld> {
    return new ExecWorld(await makeData())
  }

  get server(): Server {
    if (this.#server === null) throw new Error('no server was started')
    return this.#server
  }

  /** From now on, `exec` asks this server, with a token that may only work. */
  async serve(env: Env = {}, port?: string): Promise<Server> {
    this.#server = await Server.start(this.data, env, port)
    if (this.#token === '') {
      const { body } = await this.server.admin.post('/v1/tokens', { scope: 'worker' })
      this.#token = body.token
    }
    return this.#server
  }

  /** Starts `exec` with a script for sh. In the script, `$AT` is a folder for its files. */
  start(flags: readonly string[], script: string, env: Env = {}): Command {
    return this.startCommand(flags, ['sh', '-c', script], env)
  }

  startCommand(
    flags: readonly string[],
    command: readonly string[],
    env: Env = {},
    outputs?: readonly ['pipe' | number, 'pipe' | number],
  ): Command {
    const through: Env =
      this.#server === null ? {} : { HOLDFAST_URL: this.#server.url, HOLDFAST_TOKEN: this.#token }
    const all = { AT: this.data.folder, ...through, ...env }
    const started = new Command(this.data, ['exec', ...flags, '--', ...command], all, outputs)
    this.#started.push(started)
    return started
  }

  run(flags: readonly string[], script: string, env: Env = {}): Promise<Ended> {
    return this.start(flags, script, env).ended
  }

  /** A command of Holdfast directly on the database. */
  async ask<T>(...args: readonly string[]): Promise<T> {
    const env = { HOLDFAST_ADMIN_TOKEN: adminToken }
    const { stdout, stderr, code } = await new Command(this.data, [...args, '--json'], env).ended
    if (code !== 0) throw new Error(stderr)
    return JSON.parse(stdout) as T
  }

  async runs(): Promise<readonly RunJson[]> {
    const { items } = await this.ask<{ items: readonly RunJson[] }>('runs')
    return items
  }

  path(file: string): string {
    return join(this.data.folder, file)
  }

  has(file: string): boolean {
    return existsSync(this.path(file))
  }

  /** Resolves with its content when a script has written the file. */
  async written(file: string): Promise<string> {
    await until(
      async () => this.has(file) && readFileSync(this.path(file), 'utf8') !== '',
      (isThere) => isThere,
    )
    return readFileSync(this.path(file), 'utf8').trim()
  }

  write(file: string, text: string): void {
    writeFileSync(this.path(file), text)
  }

  async close(): Promise<void> {
    for (const { child } of this.#started) child.kill('SIGKILL')
    await Promise.all(this.#started.map(({ ended }) => ended))
    await this.#server?.stop()
    await this.data.remove()
  }
}

/** Makes the folder a project that has Holdfast as a dependency. */
export function installIn(folder: string): void {
  const root = join(import.meta.dirname, '..', '..')
  const bin = join(folder, 'node_modules', '.bin')
  mkdirSync(bin, { recursive: true })
  symlinkSync(join(root, 'bin', 'holdfast.mjs'), join(bin, 'holdfast'))
  symlinkSync(join(root, 'node_modules', '.bin', 'node'), join(bin, 'node'))
}

let keys = 0

/** The flags of another job. */
export function newJob(over: readonly string[] = []): string[] {
  keys += 1
  return ['--type', 'build', '--key', `job-${keys}`, ...over]
}

/** The flags of a pull request's head. */
export function pullRequest(head: string, pr = 5): string[] {
  return ['--repo', 'acme/widgets', '--pr', `${pr}`, '--base', sha('main'), '--head', sha(head)]
}

/** What `--json` printed last. */
export function answerOf({ stdout }: Ended): ExecAnswer {
  return JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as ExecAnswer
}

/** A script that goes on until it is told to stop, and says so when it begins. */
export const untilStopped = 'echo $$ >$AT/pid; while [ -e $AT ]; do sleep 0.05; done'

/** A script that goes on until the test writes the file `go`. */
export const untilGo = 'echo $$ >$AT/pid; while [ -e $AT -a ! -e $AT/go ]; do sleep 0.05; done'
