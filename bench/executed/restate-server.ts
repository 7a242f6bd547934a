/** A private Restate server on free ports, with its data in a given folder. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { freePort } from '../../test/free-port.ts'

export interface RestateServer {
  readonly ingress: string
  readonly admin: string
  stop(): Promise<void>
}

const startDeadlineMs = 60_000

export async function startRestate(folder: string): Promise<RestateServer> {
  const [ingressPort, adminPort, nodePort] = [await freePort(), await freePort(), await freePort()]
  mkdirSync(folder, { recursive: true })
  const child = spawn(findServer(), ['--node-name', 'bench', '--base-dir', folder], {
    env: {
      RESTATE_INGRESS__BIND_ADDRESS: `127.0.0.1:${ingressPort}`,
      RESTATE_ADMIN__BIND_ADDRESS: `127.0.0.1:${adminPort}`,
      RESTATE_BIND_ADDRESS: `127.0.0.1:${nodePort}`,
      RESTATE_ADVERTISED_ADDRESS: `http://127.0.0.1:${nodePort}`,
      RESTATE_LISTEN_MODE: 'tcp',
      RESTATE_DISABLE_TELEMETRY: 'true',
      RESTATE_LOG_FILTER: 'error',
      RESTATE_AUTO_PROVISION: 'true',
    },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const ended = once(child, 'exit')
  const ingress = `http://127.0.0.1:${ingressPort}`
  const admin = `http://127.0.0.1:${adminPort}`
  const stop = async (): Promise<void> => {
    if (child.exitCode === null) child.kill('SIGTERM')
    await ended
  }
  process.once('exit', () => child.kill('SIGKILL'))
  const giveUp = AbortSignal.timeout(startDeadlineMs)
  while (!((await answers(`${admin}/health`)) && (await answers(`${ingress}/restate/health`)))) {
    if (child.exitCode !== null || giveUp.aborted) {
      await stop()
      throw new Error('the Restate server did not start')
    }
    await pause(50)
  }
  return { ingress, admin, stop }
}

async function answers(url: string): Promise<boolean> {
  return await fetch(url).then(
    (response) => response.ok,
    () => false,
  )
}

/** The package of this machine has the program in `bin`. */
function findServer(): string {
  const name = `@restatedev/restate-server-${process.platform}-${process.arch}`
  const manifest = createRequire(import.meta.url).resolve(`${name}/package.json`)
  return join(manifest, '..', 'bin', 'restate-server')
}
