// Images that are sent with a message.

const N_BYTES_MAX = 8 << 20;

/** As a data URL; refuses what the server would refuse. */
export function readImage(file: File): Promise<string> {
  if (file.size > N_BYTES_MAX) return Promise.reject(new Error(`${file.name}: > ${N_BYTES_MAX >> 20} MB`));
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result));
    reader.onerror = () => reject(reader.error ?? new Error(file.name));
    reader.readAsDataURL(file);
  });
}
