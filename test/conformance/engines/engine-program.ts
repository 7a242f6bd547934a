/**
 * A program: a process with an engine that listens, which a test starts, tells what to do on its
 * standard input, and kills. It prints each thing that it hears as a line. After `stop` it does
 * nothing more, so it ends by itself if the engine has left nothing open.
 */
import { createInterface } from 'node:readline'
import { wakeUp } from './engine-listener.ts'
import { openEngine } from './bullmq-engines.ts'

const [url = '', storeId = '', ...types] = process.argv.slice(2)
const engine = openEngine(url, storeId)
const input = createInterface(process.stdin)

/** A listener that never finishes, as in a process that dies before it has tried the lease. */
let isStuck = false

engine.listen(types, {
  runAvailable: async ({ runId }) => {
    console.log(`heard ${runId}`)
    if (isStuck) await new Promise<never>(() => undefined)
    return undefined
  },
  runsLost: (runIds) => {
    if (runIds.every((id) => id.length < 100)) console.log(`lost ${runIds.join(',')}`)
  },
})

function heapMegabytes(): number {
  globalThis.gc?.()
  return Math.round(process.memoryUsage().heapUsed / 1e6)
}

const commands: Readonly<Record<string, (word: string) => Promise<void> | void>> = {
  announce: (runId) => engine.announce([wakeUp(runId)]),
  lost: (runId) => engine.announceLost([runId]),
  stick: () => void (isStuck = true),
  health: async () => console.log(`health ${(await engine.health()).ok}`),
  /** Announces very much, and prints by how many megabytes the memory in use has grown. */
  flood: async (count) => {
    const before = heapMegabytes()
    for (let at = 0; at < Number(count); at++) {
      engine.announce([wakeUp(`run_${at}${'x'.repeat(200)}`, `type${at % 100}`)])
      engine.announceLost([`run_${at}${'x'.repeat(200)}`])
      if (at % 100 === 0) await new Promise(setImmediate)
    }
    console.log(`grown ${heapMegabytes() - before}`)
  },
  stop: async () => {
    await engine.stop()
    console.log('stopped')
    input.off('close', endWithTest)
    input.close()
    process.stdin.destroy()
  },
}

// It does not outlive the test that started it.
const endWithTest = (): never => process.exit(1)
input.on('close', endWithTest)

input.on('line', (line) => {
  const [command = '', word = ''] = line.split(' ')
  void commands[command]?.(word)
})
