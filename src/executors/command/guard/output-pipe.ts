/**
 * The pipe that a command writes to. stdout and stderr share one, so that what it wrote first is
 * read first, and it is a real pipe, so that a script may open /dev/stderr. Node makes neither: its
 * own pipes are two, and sockets. So it is made by mkfifo, and where there is no mkfifo, Node's are
 * used.
 *
 * What must hold: everything goes through one buffer for all commands, so output that nobody keeps
 * costs no memory.
 */
import { execFileSync, type ChildProcess } from 'node:child_process'
import { closeSync, constants, mkdtempSync, openSync, rmSync } from 'node:fs'
import { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'

export interface OutputPipe {
  /** For the child's stdout and stderr. */
  readonly stdio: number | 'pipe'
  /** Called once, right after the start. After `onEnd` nobody can write any more. */
  read(child: ChildProcess | null, onData: (output: Uint8Array) => void, onEnd: () => void): void
  /** Reads no more. Whoever still writes to it gets an error. */
  close(): void
}

export function openOutputPipe(): OutputPipe {
  const ends = makePipe()
  return ends === null ? nodePipes() : realPipe(ends)
}

export interface PipeEnds {
  readonly reading: number
  readonly writing: number
}

const mkfifoPatienceMs = 5000

/**
 * Null where there is no mkfifo. `full`: whether a writer waits while the pipe is full, or gets an
 * error.
 */
export function makePipe(full: 'waits' | 'refuses' = 'waits'): PipeEnds | null {
  let folder: string | null = null
  try {
    folder = mkdtempSync(join(tmpdir(), 'holdfast-pipe-'))
    const path = join(folder, 'output')
    execFileSync('mkfifo', ['-m', '600', path], { stdio: 'ignore', timeout: mkfifoPatienceMs })
    return openEnds(path, full === 'waits' ? 0 : constants.O_NONBLOCK)
  } catch {
    return null
  } finally {
    if (folder !== null) rmSync(folder, { recursive: true, force: true })
  }
}

/** Opening an end waits for the other end, unless it is the reading one and says so. */
function openEnds(path: string, writingFlags: number): PipeEnds {
  const reading = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    return { reading, writing: openSync(path, constants.O_WRONLY | writingFlags) }
  } catch (error) {
    closeSync(reading)
    throw error
  }
}

const readBuffer = Buffer.allocUnsafe(64 * 1024)

function realPipe({ reading, writing }: PipeEnds): OutputPipe {
  let socket: Socket | null = null
  return {
    stdio: writing,
    read(_child, onData, onEnd) {
      // Only the child's copy may be open, or the pipe would never end.
      closeSync(writing)
      const callback = (length: number, buffer: Uint8Array): boolean => {
        onData(buffer.subarray(0, length))
        return true
      }
      socket = new Socket({
        fd: reading,
        readable: true,
        writable: false,
        onread: { buffer: readBuffer, callback },
      })
      socket.on('error', () => undefined).on('close', onEnd)
    },
    close: () => void socket?.destroy(),
  }
}

function nodePipes(): OutputPipe {
  let streams: Readable[] = []
  return {
    stdio: 'pipe',
    read(child, onData, onEnd) {
      streams = [child?.stdout, child?.stderr].filter((stream) => stream != null)
      let open = streams.length
      for (const stream of streams) {
        stream.on('data', onData).on('error', () => undefined)
        stream.on('close', () => {
          open -= 1
          if (open === 0) onEnd()
        })
      }
    },
    close: () => streams.forEach((stream) => void stream.destroy()),
  }
}
