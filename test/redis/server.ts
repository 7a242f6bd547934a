/**
 * A private Redis on a free port of 127.0.0.1. It stores nothing on disk, so it is empty after
 * every start. A test can stop it, start it again on the same port, and freeze it.
 *
 * What must hold: it does not outlive this process, however the process ends. A supervising shell
 * has the read end of a pipe whose only writer is this process, and kills the server when the pipe
 * closes.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { freePort } from '../free-port.ts'
import { findRedisServer } from './binaries.ts'

const startDeadlineMs = 20_000
const portTries = 3

const supervisor = `
folder=$1 program=$2
shift 2
exec 3<&0
"$program" --dir "$folder" "$@" >"$folder/log" 2>&1 3<&- &
server=$!
echo "$server"
( cat <&3 >/dev/null; kill -KILL "$server" 2>/dev/null ) &
wait "$server" 2>/dev/null
tail -n 5 "$folder/log" >&2
rm -rf "$folder"
`

/** Server settings, such as { requirepass: 'x' }. */
export type RedisSettings = Readonly<Record<string, string>>

interface Started {
  readonly child: ChildProcess
  readonly pid: number
}

export class RedisServer {
  readonly port: number
  readonly #settings: RedisSettings
  #started: Started | null = null

  private constructor(port: number, settings: RedisSettings) {
    this.port = port
    this.#settings = settings
  }

  static async start(settings: RedisSettings = {}): Promise<RedisServer> {
    for (let attempt = 1; ; attempt++) {
      const server = new RedisServer(await freePort(), settings)
      try {
        await server.startAgain()
        return server
      } catch (error) {
        // Another program may take the free port before the server binds it.
        const portTaken = error instanceof Error && error.message.includes('in use')
        if (!portTaken || attempt === portTries) throw error
      }
    }
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`
  }

  /** Starts it, empty, on its port. */
  async startAgain(): Promise<void> {
    const program = findRedisServer()
    if (program === null) {
      throw new Error('Redis is not installed. Run `npm test`, which installs it or says how.')
    }
    const folder = mkdtempSync(join(tmpdir(), 'holdfast-redis-'))
    const args = [supervisor, 'sh', folder, program, ...this.#flags()]
    const child = spawn('sh', ['-c', ...args], { detached: true, stdio: 'pipe' })
    const output: string[] = []
    child.stderr.setEncoding('utf8').on('data', (chunk: string) => void output.push(chunk))
    const [pid] = (await once(createInterface(child.stdout), 'line')) as [string]
    this.#started = { child, pid: Number(pid) }
    const giveUp = AbortSignal.timeout(startDeadlineMs)
    while (!(await this.#answers())) {
      if (child.exitCode !== null || giveUp.aborted) {
        await this.stop()
        throw new Error(`Redis did not start:\n${output.join('')}`)
      }
      await pause(10)
    }
    // A server that is never stopped must not keep its owner alive.
    for (const handle of [child, child.stdin, child.stdout, child.stderr]) {
      ;(handle as { unref(): void }).unref()
    }
  }

  #flags(): string[] {
    const settings = {
      ...{ port: String(this.port), bind: '127.0.0.1', daemonize: 'no' },
      ...{ save: '', appendonly: 'no', 'repl-diskless-sync-delay': '0' },
      ...this.#settings,
    }
    return Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value])
  }

  /** An error of the server is an answer too, such as one about a missing password. */
  async #answers(): Promise<boolean> {
    try {
      await this.run('PING')
      return true
    } catch (error) {
      return error instanceof Error && error.name === 'ReplyError'
    }
  }

  /** Runs one command as an operator does. */
  async run(command: string, ...args: readonly string[]): Promise<unknown> {
    const password = this.#settings['requirepass']
    const client = new Redis(this.url, {
      lazyConnect: true,
      retryStrategy: () => null,
      ...(password !== undefined && { password }),
    })
    client.on('error', () => undefined)
    try {
      await client.connect()
      return await client.call(command, ...args)
    } finally {
      client.disconnect()
    }
  }

  /** Freezes it: connections stay open, and nothing is answered. */
  freeze(): void {
    if (this.#started !== null) process.kill(this.#started.pid, 'SIGSTOP')
  }

  unfreeze(): void {
    if (this.#started !== null) process.kill(this.#started.pid, 'SIGCONT')
  }

  /** Kills it. What it held is gone. */
  async stop(): Promise<void> {
    const { child } = this.#started ?? {}
    this.#started = null
    if (child === undefined || child.exitCode !== null) return
    child.ref()
    const ended = once(child, 'exit')
    child.stdin?.end()
    await ended
  }
}
