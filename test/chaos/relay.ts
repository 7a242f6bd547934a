/**
 * A TCP relay in front of a server, so that a store can lose its server and get another, or lose a
 * connection at the one moment that matters: between a COMMIT and its answer.
 */
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createConnection, createServer, type AddressInfo, type Socket } from 'node:net'

export interface Relay {
  /** The given address, but with the port of the relay. */
  url(target: string): string
  /** New connections go to this server. Open connections stay. */
  aim(target: string): void
  /** Ends every connection that is open. */
  cut(): void
  /** Cuts the connection of the next COMMIT: before it arrives, or before its answer does. */
  loseCommit(what: 'request' | 'answer'): void
  /**
   * Loses the answer of the next COMMIT, and the server with it, until `aim` names a server again.
   */
  loseServerAtCommit(): void
  /** How many COMMITs were lost so far. */
  readonly commitsLost: number
  close(): Promise<void>
}

/** The driver sends COMMIT by its text the first time, and by this statement name after that. */
const commitName = createHash('sha1').update('COMMIT').digest('base64url')
/** A port on which no server listens. */
const nowhere = 1
const isCommit = (bytes: Buffer): boolean => bytes.includes('COMMIT') || bytes.includes(commitName)

export async function startRelay(): Promise<Relay> {
  let port = 0
  let toLose: 'request' | 'answer' | null = null
  let losesServer = false
  let commitsLost = 0
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
    }
    let mute = false
    near.on('data', (bytes) => {
      if (toLose !== null && isCommit(bytes)) {
        commitsLost++
        if (toLose === 'request') near.destroy()
        mute = true
        toLose = null
      }
      if (!near.destroyed) far.write(bytes)
    })
    far.on('data', (bytes) => {
      if (!mute) near.write(bytes)
      else if (losesServer) {
        losesServer = false
        port = nowhere
        cut()
      } else near.destroy()
    })
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
    loseCommit: (what) => void (toLose = what),
    loseServerAtCommit() {
      toLose = 'answer'
      losesServer = true
    },
    get commitsLost() {
      return commitsLost
    },
    async close() {
      server.close()
      cut()
      await once(server, 'close')
    },
  }
}
