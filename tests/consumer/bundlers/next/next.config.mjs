export default { serverExternalPackages: ["millrace"] };
