/** A TCP relay in front of a server, so that a store can lose its server and get another. */
import { once } from 'node:events'
import { createConnection, createServer, type AddressInfo, type Socket } from 'node:net'

export interface Relay {
  /** The given address, by way of the relay. */
  url(target: string): string
  /** New connections go here; those that are open stay where they are. */
  aim(target: string): void
  /** Ends every connection that is open. */
  cut(): void
  close(): Promise<void>
}

export async function startRelay(): Promise<Relay> {
  let port = 0
  const sockets = new Set<Socket>()
  const server = createServer((near) => {
    const far = createConnection(port, '127.0.0.1')
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(socket)
      socket.on('error', () => undefined)
      socket.on('close', () => {
        sockets.delete(socket)
        other.destroy()
      })
      socket.pipe(other)
    }
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const cut = (): void => {
    for (const socket of sockets) socket.destroy()
  }
  const own = (server.address() as AddressInfo).port
  return {
    url(target) {
      const url = new URL(target)
      url.port = String(own)
      return url.href
    },
    aim: (target) => void (port = Number(new URL(target).port)),
    cut,
    async close() {
      server.close()
      cut()
      await once(server, 'close')
    },
  }
}
