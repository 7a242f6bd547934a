/** `holdfast purge`: removes what is past its retention now, instead of at the next full hour. */
import type { Command } from 'commander'
import { purgeAll, purgeLimits } from '../../runs/purge.ts'
import { addDatabaseFlags, settingsOf, type Parsed } from '../connection/connection.ts'
import { openExisting } from '../operations/open-operations.ts'
import { printText } from '../output/fit-text.ts'
import { printJson } from '../output/json.ts'
import { progressOn } from '../output/progress.ts'
import type { World } from '../world.ts'

export function addPurgeCommand(program: Command, world: World): void {
  const purge = program
    .command('purge')
    .summary('remove what is past its retention')
    .description(
      'Removes runs, audit events and webhooks that are older than the retention in the ' +
        'settings. A server does the same at its start and every hour. This also works while a ' +
        'server is running. Active runs are never removed.',
    )
    .option('--json', 'print {"runs"}: the number of runs removed')
  addDatabaseFlags(purge)
    .addHelpText(
      'after',
      `
Examples:
  holdfast purge
  holdfast purge --config /etc/holdfast/holdfast.config.ts --json`,
    )
    .action(async (parsed: Parsed) => {
      const settings = await settingsOf(world, parsed)
      const store = await openExisting(world, settings)
      const progress = progressOn(world.terminal)
      try {
        const limits = purgeLimits(settings.retention)
        const runs = await purgeAll(store, limits, 'cli', (removed) => {
          if (removed > 0) progress.show(`Removed ${countText(removed)} …`)
        })
        progress.end()
        if (parsed['json'] === true) return printJson(world.terminal, { runs })
        const { finishedDays, supersededDays } = settings.retention
        const keptDays = Math.min(finishedDays, supersededDays)
        printText(
          world.terminal,
          `Removed ${countText(runs)}. Finished runs are kept for ${finishedDays} days, ` +
            `superseded runs for ${keptDays} days.\n`,
        )
      } finally {
        progress.end()
        await store.close()
      }
    })
}

function countText(runs: number): string {
  return runs === 1 ? '1 run' : `${runs} runs`
}
