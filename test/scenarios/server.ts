/**
 * A real `holdfast serve` in its own process, used over real HTTP. It gets nothing of this
 * process's environment, so that tokens of a shell cannot change the test.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { PublishingRules } from '../../src/domain/outbox/schedule.ts'
import { Client } from './client.ts'
import type { ServerData } from './server-data.ts'

const repository = join(import.meta.dirname, '..', '..')
const node = join(repository, 'node_modules', '.bin', 'node')
const program = join(repository, 'bin', 'holdfast.mjs')
const impatientProgram = join(import.meta.dirname, 'impatient-program.ts')
const startMsMax = 60_000

export const adminToken = 'an-admin-token-for-scenarios'

/** The environment of a server with other waits, so that a test need not wait so long. */
export function publishingBy(rules: Partial<PublishingRules>): Readonly<Record<string, string>> {
  return { TEST_PUBLISHING_RULES: JSON.stringify(rules) }
}

export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Variables that do not influence the test. */
function ofTheMachine(...names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, process.env[name] ?? '']))
}

/** How a script starts the program. */
export const programLine = `${node} ${program}`

/** A command of the program, from its start to its end. */
export class Command {
  readonly child: ChildProcess
  readonly ended: Promise<Ended>
  #stdout = ''
  #stderr = ''

  constructor(
    serverData: ServerData,
    args: readonly string[],
    env: Readonly<Record<string, string>> = {},
    [out, err]: readonly ['pipe' | number, 'pipe' | number] = ['pipe', 'pipe'],
  ) {
    const started = 'TEST_PUBLISHING_RULES' in env ? impatientProgram : program
    this.child = spawn(node, [started, ...args], {
      cwd: serverData.folder,
      env: { ...ofTheMachine('PATH', 'TMPDIR', 'NODE_COMPILE_CACHE'), ...serverData.env, ...env },
      stdio: ['ignore', out, err],
    })
    this.child.stdout?.on('data', (text) => (this.#stdout += String(text)))
    this.child.stderr?.on('data', (text) => (this.#stderr += String(text)))
    this.ended = new Promise((resolve, reject) => {
      this.child.once('error', reject)
      this.child.once('close', (code) =>
        resolve({ code, stdout: this.#stdout, stderr: this.#stderr }),
      )
    })
  }

  /** What the pattern captures on standard output, as soon as it is printed. */
  async printed(pattern: RegExp): Promise<string> {
    return await this.#shown(pattern, 'stdout')
  }

  /** The same on standard error. */
  async said(pattern: RegExp): Promise<string> {
    return await this.#shown(pattern, 'stderr')
  }

  async #shown(pattern: RegExp, stream: 'stdout' | 'stderr'): Promise<string> {
    const found = Promise.withResolvers<string>()
    const look = (): void => {
      const match = pattern.exec(stream === 'stdout' ? this.#stdout : this.#stderr)
      if (match !== null) found.resolve(match[1] ?? '')
    }
    this.child[stream]?.on('data', look)
    look()
    const ended = this.ended.then(({ stderr }) => {
      throw new Error(`it ended without printing ${pattern.source}\n${stderr}`)
    })
    const late = pause(startMsMax, null, { ref: false }).then(() => {
      throw new Error(`it did not print ${pattern.source} in time\n${this.#stderr}`)
    })
    return await Promise.race([found.promise, ended, late])
  }
}

export class Server {
  readonly url: string
  readonly command: Command

  private constructor(command: Command, url: string) {
    this.command = command
    this.url = url
  }

  static async start(
    serverData: ServerData,
    env: Readonly<Record<string, string>> = {},
    port = '0',
    flags: readonly string[] = [],
  ): Promise<Server> {
    const command = new Command(serverData, ['serve', '--port', port, ...flags], {
      HOLDFAST_ADMIN_TOKEN: adminToken,
      HOLDFAST_LOG_LEVEL: 'error',
      ...env,
    })
    try {
      return new Server(command, await command.printed(/^holdfast listening on (http:\S+)$/m))
    } catch (error) {
      // No other program knows the port.
      command.child.kill('SIGKILL')
      throw error
    }
  }

  get admin(): Client {
    return this.as(adminToken)
  }

  as(token: string | null): Client {
    return new Client(this.url, token)
  }

  /** Stops it as an operator does. Returns its exit code. */
  async stop(): Promise<number | null> {
    this.command.child.kill('SIGTERM')
    return (await this.command.ended).code
  }

  /** Kills it, as a power cut would. */
  async kill(): Promise<void> {
    this.command.child.kill('SIGKILL')
    await this.command.ended
  }
}
