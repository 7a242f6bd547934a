/**
 * A server that is killed again and again. The next server has already loaded its code by then, so
 * that it takes over at once, on another port.
 */
import { startChild, type Child } from './child.ts'
import type { IntakeConfig } from './intake-program.ts'

/** How many servers load their code ahead, because loading can take longer than a server lives. */
const loadedMax = 2

export class KilledServer {
  readonly #config: IntakeConfig
  readonly #loaded: Child[] = []
  #running: Child
  #url: Promise<string>

  constructor(config: IntakeConfig) {
    this.#config = config
    this.#running = this.#next()
    this.#url = start(this.#running)
  }

  /** The address of the running server, or of the next one as soon as it runs. */
  url(): Promise<string> {
    return this.#url
  }

  /** Kills the server as a power cut would, and starts the next one. */
  async kill(): Promise<void> {
    const killed = this.#running
    this.#running = this.#next()
    this.#url = killed.kill().then(() => start(this.#running))
    await this.#url
  }

  async end(): Promise<void> {
    await this.#url.catch(() => undefined)
    await Promise.all([this.#running, ...this.#loaded].map((child) => child.kill()))
  }

  #next(): Child {
    while (this.#loaded.length <= loadedMax) {
      this.#loaded.push(startChild('intake-program.ts', this.#config))
    }
    return this.#loaded.shift() as Child
  }
}

async function start(child: Child): Promise<string> {
  await child.ready
  child.go()
  return (await child.report) as string
}
