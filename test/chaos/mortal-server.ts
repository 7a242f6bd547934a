/**
 * A server that is killed again and again. The next server has already loaded its code by then, so
 * that it takes over at once, on another port.
 */
import { startChild, type Child } from './child.ts'
import type { IntakeConfig } from './intake-program.ts'

/** Loaded ahead: loading takes longer than a short life. */
const standbysMax = 2

export class MortalServer {
  readonly #config: IntakeConfig
  readonly #standbys: Child[] = []
  #living: Child
  #url: Promise<string>

  constructor(config: IntakeConfig) {
    this.#config = config
    this.#living = this.#next()
    this.#url = letGo(this.#living)
  }

  /** Of whoever lives, or is coming to life. */
  url(): Promise<string> {
    return this.#url
  }

  /** As a power cut would; the next one comes to life. */
  async kill(): Promise<void> {
    const killed = this.#living
    this.#living = this.#next()
    this.#url = killed.kill().then(() => letGo(this.#living))
    await this.#url
  }

  async end(): Promise<void> {
    await this.#url.catch(() => undefined)
    await Promise.all([this.#living, ...this.#standbys].map((child) => child.kill()))
  }

  #next(): Child {
    while (this.#standbys.length <= standbysMax) {
      this.#standbys.push(startChild('intake-program.ts', this.#config))
    }
    return this.#standbys.shift() as Child
  }
}

async function letGo(child: Child): Promise<string> {
  await child.ready
  child.go()
  return (await child.report) as string
}
