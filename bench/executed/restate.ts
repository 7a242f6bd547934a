/**
 * Restate: a handler with three steps, called over Restate's own HTTP ingress with an
 * idempotency key. The handler and its callers are this process; the server is another one.
 *
 *   restate.ts PORT INGRESS_URL ADMIN_URL
 */
import { randomUUID } from 'node:crypto'
import { Agent, request } from 'node:http'
import { callers } from '../workload.ts'
import { answerOrders, runFinished } from './executor.ts'

/** What is used of the package, which only `npm run bench` installs. */
interface RestatePackage {
  service(service: {
    readonly name: string
    readonly handlers: Readonly<Record<string, (context: Context) => Promise<number>>>
  }): object
  serve(options: { readonly services: readonly object[]; readonly port: number }): Promise<number>
}

interface Context {
  run(name: string, work: () => number): Promise<number>
}

const packageName = '@restatedev/restate-sdk'
const restate = (await import(packageName)) as RestatePackage
const [port, ingress = '', admin = ''] = process.argv.slice(2)

const service = restate.service({
  name: 'measured',
  handlers: {
    work: async (context) => {
      const first = await context.run('first', () => 1)
      const second = await context.run('second', () => first + 1)
      return await context.run('third', () => second + 1)
    },
  },
})
await restate.serve({ services: [service], port: Number(port) })
const registered = await fetch(`${admin}/deployments`, {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ uri: `http://127.0.0.1:${port}` }),
})
if (!registered.ok) throw new Error(`Restate refused the service: ${await registered.text()}`)

const agent = new Agent({ keepAlive: true, maxSockets: callers })
answerOrders(async () => {
  await call()
  runFinished()
})

function call(): Promise<void> {
  return new Promise((resolve, reject) => {
    const headers = { 'idempotency-key': randomUUID() }
    const sent = request(`${ingress}/measured/work`, { method: 'POST', headers, agent })
    sent.once('error', reject).once('response', (response) => {
      if (response.statusCode !== 200) reject(new Error(`answered ${response.statusCode}`))
      response.resume().once('end', resolve)
    })
    sent.end()
  })
}
