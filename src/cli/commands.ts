/**
 * All commands, in the order of the help, and the file of each. Loading one command must not load
 * another, so each command's own file imports what it needs.
 */
import type { Command } from 'commander'
import type { World } from './world.ts'

/** Adds a command. `finish` sets the exit code of one that fails without an error. */
export type AddCommand = (
  program: Command,
  world: World,
  finish: (exitCode: number) => void,
) => void

type LoadCommand = () => Promise<AddCommand>

export const commandGroups: Readonly<Record<string, Readonly<Record<string, LoadCommand>>>> = {
  'Run:': {
    serve: async () => (await import('./serve/serve-command.ts')).addServeCommand,
    worker: async () => (await import('./serve/worker-command.ts')).addWorkerCommand,
    exec: async () => (await import('./exec/exec-command.ts')).addExecCommand,
  },
  'Operate:': {
    runs: async () => (await import('./runs/runs-command.ts')).addRunsCommand,
    inbox: async () => (await import('./inbox/inbox-command.ts')).addInboxCommand,
    deliveries: async () =>
      (await import('./deliveries/deliveries-command.ts')).addDeliveriesCommand,
    budgets: async () => (await import('./deliveries/budgets-command.ts')).addBudgetsCommand,
    audit: async () => (await import('./audit/audit-command.ts')).addAuditCommand,
    why: async () => (await import('./audit/why-command.ts')).addWhyCommand,
  },
  'Upkeep:': {
    doctor: async () => (await import('./doctor/doctor-command.ts')).addDoctorCommand,
    catchup: async () => (await import('./inbox/catchup-command.ts')).addCatchupCommand,
    token: async () => (await import('./tokens/token-command.ts')).addTokenCommand,
    keys: async () => (await import('./deliveries/keys-command.ts')).addKeysCommand,
    migrate: async () => (await import('./database/migrate-command.ts')).addMigrateCommand,
    backup: async () => (await import('./database/backup-command.ts')).addBackupCommand,
    move: async () => (await import('./database/move-command.ts')).addMoveCommand,
    purge: async () => (await import('./database/purge-command.ts')).addPurgeCommand,
    simulate: async () => (await import('./simulate/simulate-command.ts')).addSimulateCommand,
  },
}
