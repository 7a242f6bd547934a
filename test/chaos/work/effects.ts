/** What the steps of a storm do in the outside world: requests that are counted by step key. */
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Effect {
  readonly runId: string
  readonly step: string
  count: number
}

export class Effects {
  readonly byKey = new Map<string, Effect>()
  readonly #server: Server

  private constructor() {
    this.#server = createServer((request, response) => {
      const key = request.url?.slice(1) ?? ''
      if (request.method === 'GET') {
        response.end(String(this.byKey.get(key)?.count ?? 0))
        return
      }
      let body = ''
      request.on('data', (chunk) => (body += String(chunk)))
      request.on('end', () => {
        this.#add(key, body)
        response.end('done')
      })
    })
  }

  static async start(): Promise<Effects> {
    const effects = new Effects()
    effects.#server.listen(0, '127.0.0.1')
    await once(effects.#server, 'listening')
    return effects
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  of(runId: string, step: string): number {
    const found = [...this.byKey.values()].filter(
      (effect) => effect.runId === runId && effect.step === step,
    )
    return found.reduce((sum, { count }) => sum + count, 0)
  }

  stop(): void {
    this.#server.close()
    this.#server.closeAllConnections()
  }

  #add(key: string, body: string): void {
    const [runId = '', step = ''] = body.split(' ')
    const effect = this.byKey.get(key) ?? { runId, step, count: 0 }
    effect.count++
    this.byKey.set(key, effect)
  }
}
