/** Starts `engine-program.ts`, tells it what to do, and reads what it prints. */
import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { until } from '../../scenarios/until.ts'

const program = new URL('./engine-program.ts', import.meta.url).pathname

export class EngineProcess {
  readonly #child: ChildProcessWithoutNullStreams
  readonly lines: string[] = []
  stderr = ''
  /** Its exit code and signal. */
  readonly ended: Promise<readonly unknown[]>

  constructor(url: string, storeId: string, types: readonly string[]) {
    this.#child = spawn(process.execPath, ['--expose-gc', program, url, storeId, ...types])
    createInterface(this.#child.stdout).on('line', (line) => void this.lines.push(line))
    this.#child.stderr.on('data', (text) => (this.stderr += String(text)))
    this.ended = once(this.#child, 'close')
  }

  tell(command: string): void {
    this.#child.stdin.write(`${command}\n`)
  }

  async said(line: string): Promise<void> {
    await until(
      async () => this.lines,
      (lines) => lines.includes(line),
    )
  }

  /** Resolves when its engine says that it works, or that it does not. */
  async untilHealthIs(ok: boolean): Promise<void> {
    await until(
      async () => {
        const before = this.lines.length
        this.tell('health')
        await until(
          async () => this.lines.length,
          (length) => length > before,
        )
        return this.lines.at(-1)
      },
      (line) => line === `health ${ok}`,
    )
  }

  async kill(): Promise<void> {
    this.#child.kill('SIGKILL')
    await this.ended
  }
}
