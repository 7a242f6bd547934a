/**
 * The variables with which a command finds the server it talks to. They are no settings: a server
 * ignores them, and they have flags only where a command talks to a server.
 */
export interface ClientVariable {
  readonly env: string
  readonly flag: string
  readonly summary: string
  /** Whether `NAME_FILE` may name a file that contains it. */
  readonly hasFile: boolean
}

export const clientVariables: readonly ClientVariable[] = [
  {
    env: 'HOLDFAST_URL',
    flag: '--url',
    summary:
      'The address of the server that a command talks to. Without it, the command opens the ' +
      'database that the settings name. A flag that names a database counts more',
    hasFile: false,
  },
  {
    env: 'HOLDFAST_TOKEN',
    flag: '--token',
    summary:
      'The token that a command sends to the server. Without it, `HOLDFAST_ADMIN_TOKEN` is sent. ' +
      'Every user of a machine can read command lines, so the flag is less safe',
    hasFile: true,
  },
]
