/**
 * What the thread that renews leases says to the guard, past the main thread of the node, which may
 * be blocked: a line for each renewal, through a pipe. Node's own channel belongs to the main
 * thread.
 *
 * What must hold: a line that is lost only makes a command end earlier. Nobody ever waits for the
 * pipe: if it is full, the line is dropped. A lease is given once, so a line that an earlier guard
 * has left in the pipe is about no command of this one.
 */
import { Socket } from 'node:net'

export interface LeaseSign {
  readonly leaseHash: string
  /** How long the lease lasts from now, at least. */
  readonly leaseMs: number
}

/** Where the guard finds the reading end, after the channel to its node. */
export const signsFd = 4
/** The argument of a guard that has it. */
export const signsArgument = 'lease-signs'

export function readSigns(fd: number, onSign: (sign: LeaseSign) => void): void {
  let rest = ''
  const socket = new Socket({ fd, readable: true, writable: false })
  socket.setEncoding('utf8').on('data', (text: string) => {
    const lines = (rest + text).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      const [leaseHash = '', leaseMs = ''] = line.split(' ')
      if (/^\d+$/.test(leaseMs)) onSign({ leaseHash, leaseMs: Number(leaseMs) })
    }
  })
  socket.on('error', () => undefined)
  // Its node keeps the guard alive, not this pipe.
  socket.unref()
}
