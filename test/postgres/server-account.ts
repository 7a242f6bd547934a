/**
 * The account of the server's process. PostgreSQL refuses to run as root, so root uses the account
 * that every PostgreSQL package creates; any other user runs it as themselves.
 */
import { spawnSync } from 'node:child_process'

export interface ServerAccount {
  readonly uid: number
  readonly gid: number
}

const accountName = 'postgres'

/** Null: run as ourselves. */
export function serverAccount(): ServerAccount | null {
  if (process.getuid?.() !== 0) return null
  return { uid: numberFromId('-u'), gid: numberFromId('-g') }
}

function numberFromId(flag: '-u' | '-g'): number {
  const answer = spawnSync('id', [flag, accountName], { encoding: 'utf8' })
  if (answer.status === 0) return Number(answer.stdout)
  throw new Error(
    `PostgreSQL does not run as root and there is no user "${accountName}" to run it as. ` +
      `Make one with: useradd --system ${accountName}`,
  )
}
