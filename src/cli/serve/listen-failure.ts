/** Why the server could not listen, with what to do about it. */
import { SetupError } from '../../errors.ts'
import type { Settings } from '../../settings/settings.ts'

export function listenFailure(error: unknown, { host, port }: Settings): unknown {
  const failure = (message: string, hint: string): SetupError =>
    new SetupError('cannot_listen', message, { hint, cause: error })
  switch ((error as NodeJS.ErrnoException | null)?.code) {
    case 'EADDRINUSE':
      return failure(
        `Port ${port} on ${host} is already in use`,
        'Stop the program that uses it, or choose another port: --port N (0 picks a free one).',
      )
    case 'EACCES':
      return failure(
        `This user is not allowed to listen on port ${port}`,
        'Choose a port from 1024 up with --port N, and put a proxy in front of it.',
      )
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return failure(
        `${host} is not an address of this machine`,
        'Choose one with --host: 127.0.0.1 for this machine only, 0.0.0.0 for all networks.',
      )
    default:
      return error
  }
}
